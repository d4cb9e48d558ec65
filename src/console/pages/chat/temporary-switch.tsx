import { MessageSquareDashed } from "lucide-react";
import { IconButton } from "../../ui/buttons/icon-button.tsx";
import { Switch } from "../../ui/forms/switch.tsx";
import { SMALL, useMedia } from "../../ui/use-media.ts";

interface TemporarySwitchProps {
  readonly isOn: boolean;
  readonly onChange: (isOn: boolean) => void;
}

/** Whether a new chat is kept. On small screens it is a sign, for which the head of a chat has room. */
export function TemporarySwitch({ isOn, onChange }: TemporarySwitchProps) {
  if (!useMedia(SMALL)) {
    return <Switch name="temporary" label="Temporary" isOn={isOn} onChange={onChange} />;
  }
  return (
    <IconButton
      icon={MessageSquareDashed}
      label="Temporary"
      aria-pressed={isOn}
      onClick={() => onChange(!isOn)}
    />
  );
}
