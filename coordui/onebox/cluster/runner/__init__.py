"""Runs Jobs: a controller makes their Pods, a scheduler gives them room, a node runs their commands on leashes."""
