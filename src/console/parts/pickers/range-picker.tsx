import { ChevronLeft, ChevronRight } from "lucide-react";
import { useState } from "react";
import { countOf } from "../../lib/count.ts";
import {
  MAX_DAYS,
  moveRange,
  type Range,
  type RangeState,
  rangeOfDays,
  readRange,
} from "../../lib/range.ts";
import { IconButton } from "../../ui/buttons/icon-button.tsx";
import { TextField } from "../../ui/forms/field.tsx";
import { Form } from "../../ui/forms/form.tsx";
import { Select } from "../../ui/forms/select.tsx";
import { Dialog } from "../../ui/overlays/dialog.tsx";

interface RangePickerProps {
  readonly value: RangeState;
  readonly onChange: (value: RangeState) => void;
  /** Unix milliseconds. */
  readonly now: number;
}

const OTHER = "other";
const PRESETS = [
  { value: "1", label: "24 hours" },
  { value: "7", label: "7 days" },
  { value: "30", label: "30 days" },
  { value: "90", label: "90 days" },
  { value: "365", label: "365 days" },
] as const;

/** Chooses a range by its length, its neighbours, or its first and last day. */
export function RangePicker({ value, onChange, now }: RangePickerProps) {
  const [isOpen, setOpen] = useState(false);
  const range = readRange(value, now);
  const days = String(range.days);
  const isPreset = PRESETS.some((preset) => preset.value === days);
  const close = () => setOpen(false);
  return (
    <div className="flex items-center gap-1">
      <IconButton
        icon={ChevronLeft}
        label="The time before"
        onClick={() => onChange(moveRange(range, -1, now))}
      />
      <Select
        label="Range"
        value={days}
        onChange={(next) => {
          if (next === OTHER) setOpen(true);
          else onChange({ range: next, until: value.until });
        }}
        choices={[
          ...(isPreset ? [] : [{ value: days, label: countOf(Number(days), "day") }]),
          ...PRESETS,
          { value: OTHER, label: "From day to day…" },
        ]}
      />
      <IconButton
        icon={ChevronRight}
        label="The time after"
        disabledReason={range.isLive ? "This range ends now." : undefined}
        onClick={() => onChange(moveRange(range, 1, now))}
      />
      <Dialog isOpen={isOpen} onClose={close} title="From day to day">
        <Days range={range} now={now} onClose={close} onChange={onChange} />
      </Dialog>
    </div>
  );
}

interface DaysProps {
  readonly range: Range;
  readonly now: number;
  readonly onClose: () => void;
  readonly onChange: (value: RangeState) => void;
}

function Days({ range, now, onClose, onChange }: DaysProps) {
  const [first, setFirst] = useState(range.firstDay);
  const [last, setLast] = useState(range.lastDay);
  const next = rangeOfDays(first, last, now);
  return (
    <Form
      action="Show range"
      onCancel={onClose}
      disabledReason={
        next === undefined
          ? `The last day is not before the first, and at most ${MAX_DAYS} days are shown.`
          : undefined
      }
      onSubmit={() => {
        if (next !== undefined) onChange(next);
        onClose();
        return Promise.resolve();
      }}
    >
      <TextField name="from" label="First day" type="date" value={first} onChange={setFirst} />
      <TextField
        name="to"
        label="Last day"
        hint="Days are UTC."
        type="date"
        value={last}
        onChange={setLast}
      />
    </Form>
  );
}
