import { Toast } from "@base-ui/react/toast";
import { X } from "lucide-react";
import { IconButton } from "../buttons/icon-button.tsx";

const manager = Toast.createToastManager();

/** Says that something is done: "Key reporting is disabled". Errors stay where they happened, except those of a menu, which is gone by then. */
export function showToast(text: string): void {
  manager.add({ title: text });
}

/** Where toasts appear; the shell has one. */
export function Toasts() {
  return (
    <Toast.Provider toastManager={manager} timeout={6_000}>
      <Toast.Portal>
        <Toast.Viewport className="fixed right-4 bottom-4 left-4 z-50 flex flex-col items-end gap-2">
          <List />
        </Toast.Viewport>
      </Toast.Portal>
    </Toast.Provider>
  );
}

function List() {
  const { toasts, close } = Toast.useToastManager();
  return toasts.map((toast) => (
    <Toast.Root
      key={toast.id}
      toast={toast}
      data-toast
      swipeDirection={["right", "down"]}
      className="appear max-w-sm rounded-lg border border-line bg-surface shadow-raised"
    >
      <Toast.Content className="flex items-center gap-2 py-1 pr-1 pl-3">
        <Toast.Title render={<p />} className="min-w-0 flex-1 break-words" />
        <IconButton icon={X} label="Close the message" onClick={() => close(toast.id)} />
      </Toast.Content>
    </Toast.Root>
  ));
}
