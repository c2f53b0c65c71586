"""Files in the containers of apps: contents by digest, which are pushed once, and links to them."""
