package io.leasehold.cli.command;

import io.leasehold.admin.LockAdmin;
import io.leasehold.cli.output.Terminal;
import java.util.concurrent.atomic.AtomicBoolean;

/** Shows the progress of a long scan of a store on a terminal, after the first second. Any thread may use it. */
final class Progress implements AutoCloseable {

    private static final long QUIET_NANOS = 1_000_000_000L;

    private final Terminal terminal;
    private final long startNanos = System.nanoTime();
    private final AtomicBoolean asked = new AtomicBoolean();
    private final AtomicBoolean shown = new AtomicBoolean();

    private Progress(Terminal terminal) {
        this.terminal = terminal;
    }

    static Progress of(LockAdmin admin, Terminal terminal) {
        Progress progress = new Progress(terminal);
        admin.onProgress(progress::seen);
        return progress;
    }

    private void seen(long keys) {
        if (System.nanoTime() - startNanos <= QUIET_NANOS) {
            return;
        }
        if (!asked.getAndSet(true)) {
            // Only for a long scan: a short ls starts no shell.
            shown.set(Terminal.leadsToTerminal(2));
        }
        if (shown.get()) {
            terminal.progress("about " + keys + " keys read");
        }
    }

    @Override
    public void close() {
        if (shown.get()) {
            terminal.progress("");
        }
    }
}
