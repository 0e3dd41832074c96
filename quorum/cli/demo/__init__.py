"""The demo: the main job from the first start to the last verdict, one module an act. Every act checks its claims."""
