package io.leasehold.cli.command;

import io.leasehold.Holder;
import io.leasehold.LockName;
import io.leasehold.LossCause;
import io.leasehold.ReleaseOutcome;
import io.leasehold.cli.ExitCode;
import io.leasehold.cli.Failure;
import io.leasehold.cli.output.Json;
import io.leasehold.cli.process.Containment;
import io.leasehold.cli.process.ForwardedSignal;
import io.leasehold.cli.process.SignalForwarder;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The report on one {@code run}, collected on the way: one line of text, or one JSON object for scripts. */
final class RunReport {

    /** The ways a run can end. The list is closed and part of the contract. */
    enum Outcome {
        /** The command ran under the lock to its own end. */
        COMPLETED,
        /** The lock was busy, and the caller did not wait, or not that long. */
        BUSY,
        /** The lock was busy, and that is not a failure. */
        SKIPPED,
        /** The lease ended, or was about to, while the command ran or before it could start. */
        LOST,
        /** A signal came before the command was started. */
        SIGNALLED,
        /** The command does not exist or cannot be executed, or could not be contained as required. */
        NOT_STARTED,
        /** The options or the store's URI are wrong. */
        USAGE,
        /** The store could not serve, refused, or is not safe. */
        STORE,
        /** An internal error of Leasehold. */
        INTERNAL
    }

    private final String lock;
    private Outcome outcome = Outcome.INTERNAL;
    private int exitCode = ExitCode.INTERNAL.code();
    private @Nullable String reason;
    private boolean reasonIsNote;
    private @Nullable Integer commandExitCode;
    private @Nullable Long fencingToken;
    private @Nullable String holder;
    private @Nullable Long waitedMillis;
    private @Nullable Long heldMillis;
    private @Nullable ReleaseOutcome release;
    private @Nullable LossCause lossCause;
    private @Nullable Holder busyHolder;
    private int leftBehind;
    private @Nullable Containment containment;

    RunReport(String lock) {
        this.lock = lock;
    }

    /** Sets the outcome; the last call counts. */
    RunReport ended(Outcome how, int code, @Nullable String why) {
        outcome = how;
        exitCode = code;
        reason = why;
        reasonIsNote = how == Outcome.SKIPPED || how == Outcome.COMPLETED;
        return this;
    }

    /** A failure occurred before the command or outside of it. */
    RunReport failed(Failure failure) {
        Outcome how = switch (failure.code()) {
            case USAGE -> Outcome.USAGE;
            case LEASE_LOST -> Outcome.LOST;
            case STORE_UNAVAILABLE, ACCESS, UNSAFE -> Outcome.STORE;
            default -> Outcome.INTERNAL;
        };
        return ended(how, failure.code().code(), failure.reason());
    }

    /** A signal came before the command was started. */
    RunReport signalled(LockName name, ForwardedSignal signal, String end) {
        return ended(
                Outcome.SIGNALLED,
                ExitCode.SIGNAL_BASE + SignalForwarder.number(signal),
                "stopped by SIG" + signal + " while waiting for " + RunAttempt.what(name)
                        + "; the command was not run and " + end);
    }

    /** Adds a note about a run that otherwise ended normally. */
    RunReport remark(String what) {
        reason = what;
        reasonIsNote = false;
        return this;
    }

    RunReport contained(Containment how) {
        containment = how;
        return this;
    }

    RunReport waited(long millis) {
        waitedMillis = millis;
        return this;
    }

    RunReport held(String byHolder, long withToken) {
        holder = byHolder;
        fencingToken = withToken;
        return this;
    }

    RunReport heldFor(long millis) {
        heldMillis = millis;
        return this;
    }

    RunReport commandEnded(int code, int processesLeftBehind) {
        commandExitCode = code;
        leftBehind = processesLeftBehind;
        return this;
    }

    RunReport released(ReleaseOutcome how) {
        release = how;
        return this;
    }

    RunReport lost(@Nullable LossCause cause) {
        lossCause = cause;
        return this;
    }

    RunReport busy(@Nullable Holder by) {
        busyHolder = by;
        return this;
    }

    /** Whether the command ran under the lock to its own end, and ended well. */
    boolean isSuccess() {
        return outcome == Outcome.COMPLETED && exitCode == ExitCode.OK.code();
    }

    int exitCode() {
        return exitCode;
    }

    @Nullable
    String reason() {
        return reason;
    }

    /** Whether the reason only informs: then {@code --quiet} omits it. */
    boolean reasonIsNote() {
        return reasonIsNote;
    }

    Map<String, @Nullable Object> json() {
        Map<String, @Nullable Object> json = new LinkedHashMap<>();
        json.put("command", new Json.Word("run"));
        json.put("lock", lock);
        json.put(
                "outcome", new Json.Word(outcome.name().toLowerCase(Locale.ROOT).replace('_', '-')));
        json.put("exitCode", exitCode);
        json.put("reason", reason);
        json.put("commandExitCode", commandExitCode);
        json.put("holder", holder);
        json.put("fencingToken", fencingToken);
        json.put("waitedMs", waitedMillis);
        json.put("heldMs", heldMillis);
        json.put("release", release);
        json.put("lossCause", lossCause);
        json.put("leftBehind", leftBehind);
        json.put("containment", containment == null ? null : new Json.Word(containment.word()));
        json.put("busyHolder", busyHolder == null ? null : HolderView.json(busyHolder));
        return json;
    }
}
