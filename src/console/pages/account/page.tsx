import { useState } from "react";
import { useDeleteChats } from "../../api/queries/chats.ts";
import { useSession } from "../../api/queries/session.ts";
import { zoneName } from "../../lib/time.ts";
import { PasswordForm } from "../../parts/accounts/password-form.tsx";
import { Button } from "../../ui/buttons/button.tsx";
import { SelectField } from "../../ui/forms/select.tsx";
import { Switch } from "../../ui/forms/switch.tsx";
import { PageHeader } from "../../ui/navigation/page-header.tsx";
import { ConfirmDialog } from "../../ui/overlays/confirm-dialog.tsx";
import { showToast } from "../../ui/overlays/toast.tsx";
import { changePreferences, usePreferences } from "../../ui/preferences.ts";
import { Count } from "../../ui/text/count.tsx";
import { PropertyList } from "../../ui/text/property-list.tsx";
import { Time } from "../../ui/text/time.tsx";
import { OwnIdentities } from "./own-identities.tsx";

/** Who is logged in, how this browser shows things, and the password. */
export function Page() {
  const { data } = useSession();
  return (
    <>
      <PageHeader title="Your account" />
      <div className="grid max-w-xl gap-8">
        {data !== undefined && (
          <PropertyList
            properties={[
              ["User", data.username],
              ["Role", data.role === "admin" ? "Administrator" : "User"],
              ["Session since", <Time key="since" value={data.session.created_at} />],
              ["Session ends", <Time key="ends" value={data.session.expires_at} isRelative />],
              [
                "Tokens a month",
                <Count key="tokens" value={data.monthly_token_limit} instead="unlimited" />,
              ],
              ["Calls a minute", <Count key="calls" value={data.rpm_limit} instead="unlimited" />],
            ]}
          />
        )}
        <Display />
        <section className="grid gap-4" aria-labelledby="password">
          <h2 id="password" className="text-lg">
            Password
          </h2>
          <PasswordForm onDone={() => showToast("The password is changed")} />
        </section>
        <OwnIdentities />
        <Chats />
      </div>
    </>
  );
}

function Chats() {
  const remove = useDeleteChats();
  const [isAsking, setAsking] = useState(false);
  return (
    <section className="grid justify-items-start gap-4" aria-labelledby="chats">
      <h2 id="chats" className="text-lg">
        Chats
      </h2>
      <Button look="danger" onClick={() => setAsking(true)}>
        Delete all chats…
      </Button>
      <ConfirmDialog
        isOpen={isAsking}
        onClose={() => setAsking(false)}
        title="Delete all your chats?"
        action="Delete all chats"
        typeName="delete"
        onConfirm={async () => {
          await remove.mutateAsync();
          showToast("Your chats are deleted");
        }}
      >
        All of them are gone for good, pinned ones too.
      </ConfirmDialog>
    </section>
  );
}

/** What this browser keeps for itself. */
function Display() {
  const { theme, zone, singleKeys, enter } = usePreferences();
  return (
    <section className="grid gap-4" aria-labelledby="display">
      <h2 id="display" className="text-lg">
        This browser
      </h2>
      <SelectField
        name="theme"
        label="Theme"
        value={theme}
        onChange={(next) => changePreferences({ theme: next })}
        choices={[
          { value: "system", label: "As the system" },
          { value: "light", label: "Light" },
          { value: "dark", label: "Dark" },
        ]}
      />
      <SelectField
        name="zone"
        label="Times"
        hint="Days of usage are days of UTC either way."
        value={zone}
        onChange={(next) => changePreferences({ zone: next })}
        choices={[
          { value: "local", label: `Local (${zoneName("local")})` },
          { value: "utc", label: "UTC" },
        ]}
      />
      <SelectField
        name="enter"
        label="Enter in a chat"
        value={enter}
        onChange={(next) => changePreferences({ enter: next })}
        choices={[
          { value: "sends", label: "Sends; Shift Enter breaks the line" },
          { value: "breaks", label: "Breaks the line; Ctrl Enter or ⌘ Enter sends" },
        ]}
      />
      <Switch
        name="single_keys"
        label="Single keys act, such as j, k, / and g k"
        isOn={singleKeys === "on"}
        onChange={(isOn) => changePreferences({ singleKeys: isOn ? "on" : "off" })}
      />
    </section>
  );
}
