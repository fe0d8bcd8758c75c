"""Tables as data, and how they are fitted to a terminal: `cells` and `render` are what every table uses."""
