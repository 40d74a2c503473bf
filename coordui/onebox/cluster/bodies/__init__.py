"""From the bytes of a body to an object that the schema allows."""
