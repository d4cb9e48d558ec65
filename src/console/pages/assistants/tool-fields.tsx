import { useState } from "react";
import { useGrants } from "../../api/queries/assistant-grants.ts";
import { LEVELS } from "../../parts/tool-level.tsx";
import { Button } from "../../ui/buttons/button.tsx";
import { Checkbox } from "../../ui/forms/checkbox.tsx";
import { TextField } from "../../ui/forms/field.tsx";
import { SelectField } from "../../ui/forms/select.tsx";
import { ErrorCard } from "../../ui/status/error-card.tsx";
import { PropertyList } from "../../ui/text/property-list.tsx";
import type { PartProps } from "./assistant-draft.ts";
import { NamesField } from "./names-field.tsx";

/** The one tool that everybody may give: it reaches the assistant's own knowledge alone. */
const OWN_TOOL = "search_knowledge";

const LEVEL_CHOICES = (["read_only", "write", "full_auto"] as const).map((value) => ({
  value,
  label: LEVELS[value],
}));

interface ToolFieldsProps extends PartProps {
  /** Only administrators give tools and connections. */
  readonly isAdmin: boolean;
}

/** What an assistant may do beside answering. */
export function ToolFields({ draft, set, isAdmin }: ToolFieldsProps) {
  if (isAdmin) return <Grants draft={draft} set={set} />;
  const others = draft.tools.filter((name) => name !== OWN_TOOL);
  const hasOwn = draft.tools.includes(OWN_TOOL);
  return (
    <>
      <Checkbox
        name="ext.tools"
        label="Searches its knowledge by itself"
        hint="The tool search_knowledge. Other tools and connections are given by administrators."
        isChecked={hasOwn}
        onChange={(isOn) => set({ tools: isOn ? [...others, OWN_TOOL] : others })}
      />
      <PropertyList
        properties={[
          ["Other tools", others.join(", ") || "none"],
          ["Tools may", LEVELS[draft.level]],
          ["Databases", draft.sqlConnections.join(", ") || "none"],
          ["Folders", draft.fileConnections.join(", ") || "none"],
        ]}
      />
    </>
  );
}

function Grants({ draft, set }: PartProps) {
  const grants = useGrants(true);
  const { tools = [], sqlConnections = [], fileConnections = [] } = grants.data ?? {};
  const asChoices = (names: readonly string[]) =>
    names.map((name) => ({ value: name, label: name }));
  return (
    <>
      {grants.error !== null && (
        <ErrorCard
          what="Tools and connections could not be loaded"
          error={grants.error}
          onRetry={() => void grants.refetch()}
        />
      )}
      <NamesField
        name="ext.tools"
        label="Tools"
        placeholder="Add a tool"
        values={draft.tools}
        choices={tools.map(({ name, level, available }) => ({
          value: name,
          label: name,
          hint: `${LEVELS[level]}${available ? "" : ", not available now"}`,
        }))}
        onChange={(names) => set({ tools: names })}
      />
      <Pattern draft={draft} set={set} />
      <SelectField
        name="ext.max_level"
        label="Tools may"
        hint="Tools of a higher level are not shown to the model."
        value={draft.level}
        onChange={(level) => set({ level })}
        choices={LEVEL_CHOICES}
      />
      <NamesField
        name="ext.sql_connections"
        label="Databases"
        placeholder="Add a saved connection"
        values={draft.sqlConnections}
        choices={asChoices(sqlConnections)}
        onChange={(names) => set({ sqlConnections: names })}
      />
      <NamesField
        name="ext.file_connections"
        label="Folders of the server"
        placeholder="Add a folder"
        values={draft.fileConnections}
        choices={asChoices(fileConnections)}
        onChange={(names) => set({ fileConnections: names })}
      />
    </>
  );
}

/** Tools by the beginning of their names, also those that come later. */
function Pattern({ draft, set }: PartProps) {
  const [typed, setTyped] = useState("");
  const isPattern = /^[\w-]{0,63}\*$/.test(typed);
  return (
    <div className="flex items-end gap-2">
      <div className="min-w-0 flex-1">
        <TextField
          name="pattern"
          label="Tools by a pattern"
          hint="Such as mcp_crm_*: all tools of a tool server, later ones too."
          value={typed}
          onChange={setTyped}
          spellCheck={false}
          autoCapitalize="none"
        />
      </div>
      <Button
        disabledReason={isPattern ? undefined : "A pattern is the beginning of a name and a *."}
        onClick={() => {
          if (!draft.tools.includes(typed)) set({ tools: [...draft.tools, typed] });
          setTyped("");
        }}
      >
        Add pattern
      </Button>
    </div>
  );
}
