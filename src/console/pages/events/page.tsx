import { stringifySearch } from "../../lib/url-state.ts";
import { PageHeader } from "../../ui/navigation/page-header.tsx";
import { Tabs } from "../../ui/navigation/tabs.tsx";
import { useOpenRow } from "../../ui/navigation/use-open-row.ts";
import { useUrlState } from "../../ui/navigation/use-url-state.ts";
import { CallButton } from "../../ui/overlays/call-dialog.tsx";
import { EventList } from "./event-list.tsx";
import { DEFAULTS, toFilters } from "./event-words.ts";
import { SendAll } from "./send-all.tsx";
import { WatchedFolders } from "./watched-folders.tsx";

/** What the gateway delivers to others, and the folders that some of it comes from. */
export function Page() {
  const [state, change] = useUrlState(DEFAULTS);
  const { openId, open, close } = useOpenRow("events");
  const filters = toFilters(state);
  const isFolders = state.tab === "folders";
  const path = isFolders
    ? "/api/admin/watched-folders"
    : `/api/admin/events${stringifySearch(filters)}`;
  return (
    <>
      <PageHeader title="Events">
        {!isFolders && <SendAll filters={filters} />}
        <CallButton
          call={{
            ...{ method: "GET", path, credential: "token" },
            scope: isFolders ? "watched_folders:read" : "events:read",
          }}
        />
      </PageHeader>
      <Tabs
        label="Events and folders"
        value={isFolders ? "folders" : "events"}
        onChange={(tab) => change({ tab })}
        tabs={[
          {
            id: "events",
            label: "Deliveries",
            content: (
              <EventList
                state={state}
                filters={filters}
                onChange={change}
                openId={openId}
                onOpen={open}
                onClose={close}
              />
            ),
          },
          { id: "folders", label: "Watched folders", content: <WatchedFolders /> },
        ]}
      />
    </>
  );
}
