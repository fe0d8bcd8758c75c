"""Multi-head latent attention: keys and values of all heads come from one narrow latent per token."""
