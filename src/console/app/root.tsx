import { Outlet } from "@tanstack/react-router";
import { PageTitle } from "./page-title.tsx";
import { useCurrentPage } from "./route-data.ts";

/** Every page, with its title. */
export function Root() {
  const page = useCurrentPage();
  return (
    <>
      <PageTitle title={page?.title} />
      <Outlet />
    </>
  );
}
