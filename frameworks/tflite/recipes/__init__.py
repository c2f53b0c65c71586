"""Recipes: how a model in torch becomes a `.tflite` file. A recipe is a function that returns a `Conversion`."""
