"""What the deployed model itself says of points, asked as seldom as the promise of an answer allows."""
