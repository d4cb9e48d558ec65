import { Plus } from "lucide-react";
import { Suspense, useState } from "react";
import type { IssuedBiKey } from "../../api/queries/bi-keys.ts";
import type { ShownCall } from "../../lib/clients/curl.ts";
import { stringifySearch } from "../../lib/url-state.ts";
import { Button } from "../../ui/buttons/button.tsx";
import { PageHeader } from "../../ui/navigation/page-header.tsx";
import { Tabs } from "../../ui/navigation/tabs.tsx";
import { useUrlState } from "../../ui/navigation/use-url-state.ts";
import { CallButton } from "../../ui/overlays/call-dialog.tsx";
import { lazyPart } from "../../ui/status/lazy-part.tsx";
import { Skeleton } from "../../ui/status/skeleton.tsx";
import { useKeys } from "../../ui/use-keys.ts";
import { BiKeyDialog } from "./bi-key-dialog.tsx";
import { toStatementFilters } from "./statement-outcome.tsx";

// Each is large, and a page shows one of them.
const Keys = lazyPart(async () => (await import("./keys.tsx")).Keys);
const Statements = lazyPart(async () => (await import("./statements.tsx")).Statements);
const DataTest = lazyPart(async () => (await import("./data-test.tsx")).DataTest);

const DEFAULTS = { view: "keys", search: "", key: "", outcome: "" };
type State = typeof DEFAULTS;

/** The keys with which reports read data: what each may read, what was asked, and a try from here. */
export function Page() {
  const [state, change] = useUrlState(DEFAULTS);
  const [isIssuing, setIssuing] = useState(false);
  // The secret is here and nowhere else, and gone with the page.
  const [issued, setIssued] = useState<IssuedBiKey>();
  const issue = () => {
    // The form belongs to the list.
    if (state.view !== "keys") change({ view: "keys" });
    setIssuing(true);
  };
  useKeys([{ keys: "n", label: "New BI key", run: issue }]);
  const newKey = (
    <Button look="primary" onClick={issue}>
      <Plus size={16} aria-hidden />
      New BI key
    </Button>
  );
  const tabs = [
    {
      id: "keys",
      label: "Keys",
      content: (
        <Suspense fallback={<Skeleton shape="rows" label="The BI keys are loading" />}>
          <Keys
            search={state.search}
            onSearch={(search) => change({ search })}
            isIssuing={isIssuing}
            onIssuing={setIssuing}
            onIssued={setIssued}
            newKey={newKey}
          />
        </Suspense>
      ),
    },
    {
      id: "statements",
      label: "Statements",
      content: (
        <Suspense fallback={<Skeleton shape="rows" label="The statements are loading" />}>
          <Statements state={{ key: state.key, outcome: state.outcome }} onChange={change} />
        </Suspense>
      ),
    },
    {
      id: "test",
      label: "Test from here",
      content: (
        <Suspense fallback={<Skeleton shape="block" label="The test is loading" />}>
          <DataTest />
        </Suspense>
      ),
    },
  ];
  const view = tabs.some(({ id }) => id === state.view) ? state.view : "keys";
  return (
    <>
      <PageHeader title="BI keys">
        {newKey}
        <CallButton call={callOf({ ...state, view })} />
      </PageHeader>
      <Tabs label="BI keys" tabs={tabs} value={view} onChange={(id) => change({ view: id })} />
      <BiKeyDialog issued={issued} onClose={() => setIssued(undefined)} />
    </>
  );
}

function callOf(state: State): ShownCall {
  if (state.view === "test") return { method: "GET", path: "/v1/data", credential: "bi" };
  const get = { method: "GET", credential: "token" } as const;
  if (state.view === "keys") {
    return { ...get, path: `/v1/bi-keys${stringifySearch(toFilters(state))}`, scope: "keys:read" };
  }
  const filters = stringifySearch(toStatementFilters(state));
  return { ...get, path: `/api/admin/bi/statements${filters}`, scope: "audit:read" };
}

function toFilters({ search }: State): { search?: string } {
  return search === "" ? {} : { search };
}
