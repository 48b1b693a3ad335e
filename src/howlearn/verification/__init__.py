"""howlearn.verification"""
