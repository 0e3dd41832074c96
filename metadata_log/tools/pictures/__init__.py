"""Drawing times and logs, alike for every picture and page: palette, axis, labels that fit, and the frame of a page.

Must not know: how anything that is drawn was found.
"""
