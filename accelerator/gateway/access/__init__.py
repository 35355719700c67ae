"""Who asks, and what they may: users, the policy, what a statement needs, the audit log, TLS."""
