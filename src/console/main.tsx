import { lazy, StrictMode, Suspense } from "react";
import { createRoot } from "react-dom/client";
import { pages } from "./pages.ts";

const page = pages[0];
const root = document.getElementById("root");
if (page === undefined || root === null) throw new Error("there is nothing to show");
const Page = lazy(page.load);
document.title = `${page.title} · Inference Gateway`;
createRoot(root).render(
  <StrictMode>
    <Suspense fallback={null}>
      <Page />
    </Suspense>
  </StrictMode>,
);
