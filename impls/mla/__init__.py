"""Multi-head latent attention: keys and values of all heads are computed from one narrow latent per token."""
