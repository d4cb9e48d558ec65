import { LoginForm } from "../parts/accounts/login-form.tsx";
import { Dialog } from "../ui/overlays/dialog.tsx";

interface LoginDialogProps {
  readonly isOpen: boolean;
  /** Whose session has ended. */
  readonly username: string;
  readonly onClose: () => void;
  readonly onDone: (user: { readonly username: string }) => void;
}

export function LoginDialog({ isOpen, username, onClose, onDone }: LoginDialogProps) {
  return (
    <Dialog
      isOpen={isOpen}
      onClose={onClose}
      title="Your session has ended"
      description="Log in again to go on. What you typed is still here."
      isFirm
    >
      <LoginForm username={username} next={here()} isOverPage onDone={onDone} />
    </Dialog>
  );
}

function here(): string {
  return `${window.location.pathname}${window.location.search}`;
}
