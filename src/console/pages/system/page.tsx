import { useStatus } from "../../api/queries/status.ts";
import { PageHeader } from "../../ui/navigation/page-header.tsx";
import { Tabs } from "../../ui/navigation/tabs.tsx";
import { useUrlState } from "../../ui/navigation/use-url-state.ts";
import { CallButton } from "../../ui/overlays/call-dialog.tsx";
import { StatusDot } from "../../ui/status/status-dot.tsx";
import { Backup } from "./backup.tsx";
import { Licenses } from "./licenses.tsx";
import { ServerReadiness } from "./server-readiness.tsx";
import { Settings } from "./settings.tsx";

const DEFAULTS = { view: "readiness", search: "", show: "" };

/** The server itself: whether it is ready, how it is set, how it is backed up, and what it is built from. */
export function Page() {
  const [state, change] = useUrlState(DEFAULTS);
  const { data: status, isError } = useStatus();
  const tabs = [
    { id: "readiness", label: "Readiness", content: <ServerReadiness /> },
    {
      id: "settings",
      label: "Settings",
      content: <Settings search={state.search} show={state.show} onChange={change} />,
    },
    { id: "backup", label: "Backup", content: <Backup /> },
    {
      id: "licences",
      label: "Licences",
      content: <Licenses search={state.search} onSearch={(search) => change({ search })} />,
    },
  ];
  const view = tabs.some(({ id }) => id === state.view) ? state.view : "readiness";
  const isReady = status?.ready === true && !isError;
  return (
    <>
      <PageHeader
        title="System"
        aside={
          status && (
            <StatusDot tone={isReady ? "ok" : "bad"}>
              {isReady ? "Ready" : "Not ready"} · {status.version}
            </StatusDot>
          )
        }
      >
        <CallButton call={callOf(view)} />
      </PageHeader>
      <Tabs
        label="System"
        tabs={tabs}
        value={view}
        onChange={(id) => change({ view: id, search: "", show: "" })}
      />
    </>
  );
}

function callOf(view: string) {
  const path = view === "settings" ? "/api/admin/settings" : "/api/status";
  return { method: "GET", path, credential: "session" } as const;
}
