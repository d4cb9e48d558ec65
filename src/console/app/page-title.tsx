import { useEffect } from "react";

let isFirst = true;

/** Names the tab, and moves the focus to the page's head when one page follows another. */
export function PageTitle({ title }: { readonly title: string | undefined }) {
  useEffect(() => {
    if (title === undefined) return;
    document.title = `${title} · Inference Gateway`;
    if (!isFirst) {
      // The head of a page that is still loading comes later; until then the focus is at the page.
      const head = document.querySelector<HTMLElement>("[data-page-title]");
      (head ?? document.querySelector<HTMLElement>("main"))?.focus({ preventScroll: true });
    }
    isFirst = false;
  }, [title]);
  return null;
}
