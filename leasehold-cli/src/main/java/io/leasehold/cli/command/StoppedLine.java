package io.leasehold.cli.command;

import io.leasehold.LockName;
import io.leasehold.cli.process.ControllingTerminal;
import io.leasehold.cli.process.GuardedCommand;
import io.leasehold.cli.process.OnLost;
import io.leasehold.cli.process.TerminalStop;
import java.time.Duration;
import java.time.LocalTime;
import java.time.ZoneId;
import java.time.format.DateTimeFormatter;
import java.util.Locale;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** The line of a run that Ctrl-Z is about to stop: a stopped process renews nothing, so its lease ends. */
final class StoppedLine {

    private StoppedLine() {}

    /**
     * Writes the line at each stop until it is closed; null without a terminal, since only its keyboard stops jobs. Before
     * that, the command's guardian receives the end of the lease, since the line says when the command is killed.
     */
    static @Nullable TerminalStop tell(
            LockedRun.Request request, TimeLeft timeLeft, GuardedCommand command, Consumer<String> notes) {
        if (!request.informs() || !ControllingTerminal.exists()) {
            return null;
        }
        OnLost onLost = request.command().onLost();
        return TerminalStop.surrounded(
                () -> {
                    LocalTime now = now();
                    Duration left = Duration.ofNanos(Math.max(0, timeLeft.nanos()));
                    command.tellDeadline();
                    notes.accept(text(request.lock(), left, now, onLost));
                },
                () -> {});
    }

    /** The time of the operator at the keyboard. */
    private static LocalTime now() {
        return LocalTime.now(ZoneId.systemDefault());
    }

    static String text(LockName lock, Duration left, LocalTime now, OnLost onLost) {
        DateTimeFormatter time = DateTimeFormatter.ofPattern("HH:mm:ss", Locale.ROOT);
        return "stopped: the lease on \"" + lock + "\" ends in " + HolderView.duration(left) + ", at "
                + time.format(now.plus(left)) + ", unless it continues before (fg, bg); "
                + (onLost == OnLost.IGNORE
                        ? "the command is left alone (--on-lost=ignore)"
                        : "the command is killed shortly before");
    }
}
