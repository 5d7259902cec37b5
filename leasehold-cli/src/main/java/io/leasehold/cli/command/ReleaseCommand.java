package io.leasehold.cli.command;

import io.leasehold.Holder;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.admin.LockAdmin;
import io.leasehold.cli.ExitCode;
import io.leasehold.cli.Invocation;
import io.leasehold.cli.StoreOption;
import io.leasehold.cli.output.Json;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code leasehold release}: takes a lock away from its holder, if it is still the given one. */
@Command(
        name = "release",
        header = "Takes a lock away from its holder.",
        description = {
            "Without --yes it only says what it would do. It raises the fence first, and",
            "tells the holder. Exits 1 if nothing was released."
        })
public final class ReleaseCommand implements Callable<Integer> {

    private enum Outcome {
        RELEASED,
        DRY_RUN,
        FREE,
        OTHER_HOLDER,
        CHANGED_HANDS
    }

    /** More readers than one looks at. */
    private static final int MAX_READERS = 10_000;

    private final Invocation invocation;
    private final StoreOption store;

    @Spec
    @SuppressWarnings("NullAway.Init")
    private CommandSpec spec;

    @Parameters(index = "0", paramLabel = "LOCK", description = "The lock's name.")
    @SuppressWarnings("NullAway.Init")
    private String name;

    @Option(
            names = "--holder",
            paramLabel = "ID",
            description = "Releases only if ID, as who --id prints it, is the holder.")
    private @Nullable String holder;

    @Option(names = "--force", description = "Takes the lock from any holder.")
    private boolean force;

    @Option(names = "--yes", description = "Takes the lock away.")
    private boolean yes;

    @Option(names = "--json", description = "Writes one line of JSON.")
    private boolean json;

    /** A command of this invocation. */
    public ReleaseCommand(Invocation invocation, StoreOption store) {
        this.invocation = invocation;
        this.store = store;
    }

    @Override
    public Integer call() {
        if (force == (holder != null)) {
            throw new ParameterException(
                    spec.commandLine(), "name the holder: either --holder ID (see leasehold who), or --force");
        }
        LockName lock = LockName.exactly(name);
        // Even with --yes: where no store is, there is nothing to release.
        try (LockClient locks = StoreAccess.openExisting(invocation, store)) {
            Holder before = holder(locks.admin(), lock);
            Outcome outcome = release(locks.admin(), lock, before);
            if (outcome == Outcome.RELEASED && before != null) {
                new AuditLog(invocation).write("release", lock.text(), before.id(), locks.storeDescription());
            }
            String permits = before == null ? PermitLines.hint(locks.admin(), lock, LockView.words(store)) : null;
            tell(lock, before, outcome, permits);
            return (outcome == Outcome.RELEASED || outcome == Outcome.DRY_RUN ? ExitCode.OK : ExitCode.FOUND).code();
        }
    }

    /** The present holder; if it is the readers and one of them is to be released, that one. */
    private @Nullable Holder holder(LockAdmin admin, LockName lock) {
        Holder held = admin.inspect(lock).orElse(null);
        if (held == null || !held.isReaders() || holder == null || holder.equals(held.id())) {
            return held;
        }
        return admin.readers(lock, MAX_READERS).stream()
                .filter(reader -> reader.id().equals(holder))
                .findFirst()
                .orElse(held);
    }

    private Outcome release(LockAdmin admin, LockName lock, @Nullable Holder before) {
        if (before == null) {
            return Outcome.FREE;
        } else if (holder != null && !holder.equals(before.id())) {
            return Outcome.OTHER_HOLDER;
        } else if (!yes) {
            return Outcome.DRY_RUN;
        }
        // Compared at the store: since the last read the lock may have changed hands.
        return admin.forceRelease(lock, before.id()) ? Outcome.RELEASED : Outcome.CHANGED_HANDS;
    }

    private void tell(LockName lock, @Nullable Holder before, Outcome outcome, @Nullable String permits) {
        if (json) {
            Map<String, @Nullable Object> report = new LinkedHashMap<>();
            report.put("command", new Json.Word("release"));
            report.put("lock", lock.text());
            report.put(
                    "outcome",
                    new Json.Word(outcome.name().toLowerCase(Locale.ROOT).replace('_', '-')));
            report.put("holder", before == null ? null : HolderView.json(before));
            report.put("fenceRaised", outcome == Outcome.RELEASED);
            invocation.terminal().printJson(report);
            return;
        }
        String what = "lock \"" + lock.text() + "\" ";
        invocation
                .terminal()
                .print(
                        switch (outcome) {
                            case FREE ->
                                what + "is free: there is nothing to release" + (permits == null ? "" : "; " + permits);
                            case OTHER_HOLDER ->
                                what + "is " + HolderView.sentence(before) + ", not by " + holder
                                        + ": nothing was released";
                            case DRY_RUN ->
                                what + "is " + HolderView.sentence(before)
                                        + ": with --yes the fence is raised, the hold is deleted and its holder told";
                            case CHANGED_HANDS ->
                                what + "is not held by " + (before == null ? "" : before.id())
                                        + " any more: nothing was released; check again";
                            case RELEASED ->
                                what + "was released: it was " + HolderView.sentence(before)
                                        + ". The fence was raised before, so resources that check tokens refuse the old"
                                        + " holder once a new one has come";
                        });
    }
}
