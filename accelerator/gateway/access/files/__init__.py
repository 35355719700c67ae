"""Files of the policy: read as TOML, and watched for changes."""
