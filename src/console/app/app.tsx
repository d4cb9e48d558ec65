import { CSPProvider } from "@base-ui/react/csp-provider";
import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { keepUserNames } from "../api/queries/user-names.ts";
import { Toasts } from "../ui/overlays/toast.tsx";
import { createQueryClient } from "./query-client.ts";
import { router } from "./router.tsx";

const client = createQueryClient();
keepUserNames(client);

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
