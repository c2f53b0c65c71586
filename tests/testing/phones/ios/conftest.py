from tests.iphones import go_ios, ios, iphone, iphone_lab, iphones

__all__ = ["go_ios", "ios", "iphone", "iphone_lab", "iphones"]
