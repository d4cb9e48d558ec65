import { CSPProvider } from "@base-ui/react/csp-provider";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { ApiError } from "../api/errors.ts";
import { Toasts } from "../ui/toast.tsx";
import { router } from "./router.tsx";

const MAX_TRIES = 2;

const client = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 2_000,
      retry: (count, error) => count < MAX_TRIES && isPassing(error),
    },
  },
});

/** The console: what every page has around it. */
export function App() {
  return (
    <StrictMode>
      <CSPProvider disableStyleElements>
        <QueryClientProvider client={client}>
          <RouterProvider router={router} />
          <Toasts />
        </QueryClientProvider>
      </CSPProvider>
    </StrictMode>
  );
}

/** Whether another try may help: what was refused is refused again. */
function isPassing(error: unknown): boolean {
  if (!(error instanceof ApiError)) return false;
  return error.status === 0 || error.status >= 500;
}
