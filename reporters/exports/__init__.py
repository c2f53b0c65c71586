"""What the reporters of foreign formats share: the reporter itself, and which figures of a result they write."""
