"""The HTML report in a real browser: Chromium, driven by Playwright, with axe-core.

usage: check_browser.py OPCHECK_C JOURNAL [FOLDER]

FOLDER keeps screenshots. Exits with 77 and the reason if there is no Chromium, or a Python package is missing (scripts/setup --full installs both).
"""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

WIDTHS = (360, 768, 1280)
MANY = 20000  # cases of a large page


def skip(why):
    print(f"SKIP: {why}; scripts/setup --full installs what is needed")
    sys.exit(77)


try:
    from axe_playwright_python.sync_playwright import Axe
    from playwright.sync_api import sync_playwright
except ImportError as missing:
    skip(f"this Python has no {missing.name}")


class Tester:
    def __init__(self, browser, address):
        self.browser, self.address, self.complaints = browser, address, []

    def open(self, fragment="", width=1280, scheme="light", **options):
        context = self.browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme, reduced_motion="reduce", **options)
        page = context.new_page()
        page.on("console", lambda message: self.complaints.append(f"console {message.type}: {message.text}"))
        page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        page.on("request", lambda request: request.url.startswith(("file:", "data:")) or self.complaints.append(f"a request: {request.url}"))
        page.goto(self.address + fragment)
        return page

    def check_looks(self, folder):
        """No violation that axe-core finds, and nothing wider than the window, at each width, dark and light."""
        for scheme in ("light", "dark"):
            for width in WIDTHS:
                page = self.open(width=width, scheme=scheme)
                if folder:
                    page.screenshot(path=str(folder / f"{width}-{scheme}.png"))
                page.get_by_role("button", name="Open all").click()
                page.evaluate("document.querySelectorAll('details').forEach(details => details.open = true)")
                page.locator("#cases").scroll_into_view_if_needed()
                page.locator("#case-list table tbody tr").first.wait_for(state="attached")
                results = Axe().run(page).response
                found = [f"{rule['id']}: {rule['nodes'][0]['html'][:200]}" for rule in results["violations"]]
                assert not found, f"{scheme}, {width} pixels: {found}"
                assert len(results["passes"]) > 10, "axe-core looked at nothing"
                wider = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
                assert wider <= 0, f"{scheme}, {width} pixels: the page is {wider} pixels wider than the window"
                page.context.close()

    def check_filters(self):
        page = self.open()
        shown = page.locator(".problem:visible")
        every, errors = shown.count(), page.locator(".problem[data-severity=error]").count()
        assert every > errors > 0
        page.get_by_role("button", name="Errors").click()
        assert shown.count() == errors and page.url.endswith("#severity=error"), page.url
        page.get_by_label("Search").fill("bounds")
        page.wait_for_url("**#q=bounds&severity=error")
        assert 0 < shown.count() < errors
        again = self.open("#q=bounds&severity=error")  # the link, by somebody else
        assert again.locator(".problem:visible").count() == shown.count()
        assert again.get_by_label("Search").input_value() == "bounds"
        page.get_by_role("button", name="Clear").click()
        assert shown.count() == every
        page.get_by_label("Search").fill("no problem has such words")
        page.get_by_text(f"0 of {every} problems").wait_for()
        page.get_by_label("Search").press("Escape")
        page.get_by_text(f"{every} problems", exact=True).wait_for()

    def check_operator(self):
        page = self.open()
        link = page.locator(".matrix tbody th a").first
        name = link.text_content()
        link.click()
        assert page.locator(".matrix tbody tr:visible").count() == 1
        assert page.get_by_label("Every operator").input_value() == name
        page.go_back()
        assert page.locator(".matrix tbody tr:visible").count() > 1

    def check_links(self):
        page = self.open()
        problem = page.locator(".problem").last.get_attribute("id")
        page = self.open("#" + problem)
        assert page.locator(f"#{problem}").get_attribute("open") is not None
        assert page.locator(f"#{problem} > summary").evaluate("element => element === document.activeElement")
        page.locator(".worst a").first.click()
        first = page.locator(".problem").first.get_attribute("id")
        assert page.url.endswith("#" + first) and page.locator(f"#{first} .body").is_visible()
        page.go_back()
        assert page.url.endswith("#" + problem)
        self.open("#q=%E0%A4%A&severity=x&problem-nonsense&=&&rule")  # a link that was cut

    def check_keyboard(self):
        page = self.open()
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent") == "Skip to the problems"
        page.keyboard.press("/")
        page.keyboard.type("nothing")
        assert page.get_by_label("Search").input_value() == "nothing"
        page.keyboard.press("Escape")
        second = page.locator(".problem > summary").nth(1)
        second.focus()
        page.keyboard.press("Enter")
        assert page.locator(".problem").nth(1).locator(".body").is_visible()

    def check_copy(self):
        page = self.open(permissions=["clipboard-read", "clipboard-write"])
        problem = page.locator(".problem").first
        problem.get_by_role("button", name="Copy").click()
        page.get_by_role("status").get_by_text("Copied").wait_for()
        copied = page.evaluate("navigator.clipboard.readText()")
        assert copied == problem.locator(".copy code").text_content() and "--case" in copied, copied

    def check_drawings(self):
        page = self.open()
        page.get_by_role("button", name="Open all").click()
        page.locator(".zones b").first.wait_for(state="attached")
        for figure in page.locator("figure.access").all():
            past = int(figure.get_attribute("data-offset")) >= int(figure.get_attribute("data-bytes"))
            mark, tensor = figure.locator(".zones b").bounding_box(), figure.locator(".zones .tensor").bounding_box()
            assert (mark["x"] >= tensor["x"] + tensor["width"]) == past
        strided = page.locator(".input dd", has=page.locator(".memory"))
        assert strided.count() > 0
        for drawn in strided.all():
            assert "strides" in drawn.text_content() or "offset" in drawn.text_content()
        wrong = page.locator("table.tensor td.w")
        assert wrong.count() > 0 and "rgb(194, 32, 45)" == wrong.first.evaluate("cell => getComputedStyle(cell).backgroundColor")

    def check_cases(self):
        page = self.open("#check=stride")
        rows = page.locator("#case-list tbody tr")
        rows.first.wait_for(state="attached")
        assert {row.locator("td").nth(2).text_content() for row in rows.all()} == {"stride"}
        page.get_by_label("Every outcome").select_option("fail")
        assert all(row.locator("td").first.text_content().startswith("fail") for row in rows.all()) and rows.count() > 0

    def check_without_script(self):
        page = self.open(java_script_enabled=False)
        assert page.locator("h1").text_content() == "FAILED"
        for summary in page.locator(".problem > summary").all():
            assert summary.is_visible()
        assert page.locator(".problem .body").first.is_visible() and page.locator(".matrix").is_visible()

    def check_print(self, folder):
        page = self.open()
        page.emulate_media(media="print")
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        bodies = page.locator(".problem .body")
        assert all(body.is_visible() for body in bodies.all()) and bodies.count() > 1
        assert not page.locator("nav").is_visible()
        assert page.pdf(path=str(folder / "page.pdf") if folder else None).startswith(b"%PDF")

    def check_compare(self, opcheck_c, journal, folder):
        """Two runs compared: one lacks the findings of a check, the other those of another."""
        lines = pathlib.Path(journal).read_text(encoding="utf-8").splitlines(keepends=True)
        for check in ("stride", "memory"):
            (folder / f"no_{check}.jsonl").write_text("".join(line for line in lines if f'"check":"{check}"' not in line), encoding="utf-8")
        html = folder / "compare.html"
        subprocess.run([opcheck_c, "report", "compare", "--html", html, folder / "no_stride.jsonl", folder / "no_memory.jsonl"], check=False)
        run, self.address = self.address, html.as_uri()
        for scheme in ("light", "dark"):
            page = self.open(scheme=scheme)
            shown = page.locator(".problem:visible")
            every, new = shown.count(), page.locator(".problem[data-kind=new]").count()
            assert every > new > 0
            page.get_by_role("button", name="Open all").click()
            found = [f"{rule['id']}: {rule['nodes'][0]['html'][:200]}" for rule in Axe().run(page).response["violations"]]
            assert not found, f"{scheme}: {found}"
            page.get_by_label("Every kind").select_option("new")
            assert shown.count() == new and page.url.endswith("#kind=new"), page.url
        self.address = run
        assert not self.open().get_by_label("Every kind").is_visible()

    def check_large(self, opcheck_c, journal, folder):
        """Thousands of cases are read only when somebody asks for them."""
        large, html = folder / "large.jsonl", folder / "large.html"
        lines = pathlib.Path(journal).read_text(encoding="utf-8").splitlines()
        model = next(json.loads(line) for line in lines if '"verdict":"pass"' in line)
        operator, check, device, dtype, sample, _ = model["case"].split("/")
        with open(large, "w", encoding="utf-8") as file:
            file.writelines(line + "\n" for line in lines[:-1])
            for number in range(MANY):
                case = "/".join((operator, check, device, dtype, f"{sample}{number % 100}", f"all.longer{number}"))
                file.write(json.dumps({**model, "case": case}) + "\n")
            file.write(lines[-1] + "\n")
        subprocess.run([opcheck_c, "report", "render", "--html", html, large], check=True)
        small, self.address = self.address, html.as_uri()
        page = self.open()
        assert page.locator("#case-list tr").count() == 0
        page.get_by_label("Search").fill(f"longer{MANY - 1}")
        page.locator("#cases").scroll_into_view_if_needed()
        page.locator("#case-list .case-controls").get_by_text("1 cases").wait_for()
        self.address = small


def main(opcheck_c, journal, kept=None):
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if not chromium:
        skip("there is no Chromium")
    if kept:
        kept = pathlib.Path(kept)
        kept.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = pathlib.Path(name)
        subprocess.run([opcheck_c, "report", "render", "--html", folder / "report.html", journal], check=True)
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        tester = Tester(browser, (folder / "report.html").as_uri())
        tester.check_filters()
        tester.check_operator()
        tester.check_links()
        tester.check_keyboard()
        tester.check_copy()
        tester.check_drawings()
        tester.check_cases()
        tester.check_without_script()
        tester.check_print(kept)
        tester.check_looks(kept)
        tester.check_compare(opcheck_c, journal, folder)
        tester.check_large(opcheck_c, journal, folder)
        browser.close()
    assert not tester.complaints, tester.complaints


if __name__ == "__main__":
    main(*sys.argv[1:])
