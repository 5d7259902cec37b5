package io.leasehold.cli.command;

import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.UnsafeStoreException;
import io.leasehold.admin.LockAdmin;
import io.leasehold.admin.PermitsStatus;
import io.leasehold.admin.PermitsStatus.HeldPermit;
import io.leasehold.cli.ExitCode;
import io.leasehold.cli.Invocation;
import io.leasehold.cli.StoreOption;
import io.leasehold.cli.output.Json;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code leasehold permits}: the permits of one name; changes their count, or takes one from its holder. */
@Command(
        name = "permits",
        header = "Shows permits, changes their count, or takes one away.",
        description = {
            "Without --yes it changes nothing and says what it would do. Permits of slots",
            "from a lower count on stay until their holders release them. Exits 1 if the",
            "store keeps no count for the name, or if nothing was changed."
        })
public final class PermitsCommand implements Callable<Integer> {

    private final Invocation invocation;
    private final StoreOption store;

    @Spec
    @SuppressWarnings("NullAway.Init")
    private CommandSpec spec;

    @Parameters(index = "0", paramLabel = "NAME", description = "The name of the permits.")
    @SuppressWarnings("NullAway.Init")
    private String name;

    @Option(names = "--count", paramLabel = "K", description = "Changes the number of permits to K.")
    private @Nullable Integer count;

    @Option(names = "--release", paramLabel = "SLOT", description = "Takes the permit of SLOT from its holder.")
    private @Nullable Integer release;

    @Option(names = "--holder", paramLabel = "ID", description = "Releases only if ID is the holder.")
    private @Nullable String holder;

    @Option(names = "--force", description = "Takes the permit from any holder.")
    private boolean force;

    @Option(names = "--yes", description = "Makes the change.")
    private boolean yes;

    @Option(names = "--json", description = "Writes one line of JSON.")
    private boolean json;

    /** A command of this invocation. */
    public PermitsCommand(Invocation invocation, StoreOption store) {
        this.invocation = invocation;
        this.store = store;
    }

    @Override
    public Integer call() {
        if (count != null && release != null) {
            throw usage("--count and --release exclude each other");
        } else if (release != null && force == (holder != null)) {
            throw usage("name the holder: either --holder ID, or --force");
        } else if (release == null && (force || holder != null)) {
            throw usage("--holder and --force need --release SLOT");
        }
        LockName permits = LockName.exactly(name).asPermits();
        // A count may be set before the first client uses the store.
        boolean mayMake = count != null && yes;
        try (LockClient locks =
                mayMake ? StoreAccess.open(invocation, store) : StoreAccess.openExisting(invocation, store)) {
            PermitsStatus before = locks.admin().permits(permits).orElse(null);
            if (count != null) {
                return told(before, changed(locks, permits, before, count));
            } else if (release != null) {
                return told(before, released(locks, permits, before, release));
            }
            show(locks, permits, before);
            return before == null ? ExitCode.FOUND.code() : ExitCode.OK.code();
        }
    }

    private ParameterException usage(String message) {
        return new ParameterException(spec.commandLine(), message);
    }

    /**
     * The result of a verb.
     *
     * @param outcome one word
     * @param sentence the sentence for operators
     */
    private record Result(String outcome, String sentence) {
        boolean isDone() {
            return outcome.equals("changed") || outcome.equals("released") || outcome.equals("dry-run");
        }
    }

    private Result changed(LockClient locks, LockName permits, @Nullable PermitsStatus before, int wanted) {
        permits.asPermits(wanted);
        String from = before == null ? "no count" : "a count of " + before.count();
        if (before != null && before.version() == PermitsStatus.NO_COUNT) {
            throw new UnsafeStoreException(
                    "permits \"" + permits + "\": " + locks.storeDescription() + " keeps no count, and each client"
                            + " states it: start all clients with a count of " + wanted,
                    null);
        } else if (before != null && before.count() == wanted) {
            return new Result("unchanged", "they have " + from + " already: nothing was changed");
        } else if (!yes) {
            return new Result(
                    "dry-run",
                    "they have " + from + ": with --yes it is changed to " + wanted + ", and clients that state"
                            + " another count are refused from then on");
        }
        long version = before == null ? 0 : before.version();
        if (!locks.admin().changePermits(permits, wanted, version)) {
            return new Result("overtaken", "their count has changed in the meantime: nothing was changed; check again");
        }
        new AuditLog(invocation)
                .write("change-permits", permits.text(), from + ", now " + wanted, locks.storeDescription());
        return new Result("changed", "their count was changed to " + wanted + ": they had " + from);
    }

    private Result released(LockClient locks, LockName permits, @Nullable PermitsStatus before, int slot) {
        HeldPermit held = before == null
                ? null
                : before.held().stream()
                        .filter(permit -> permit.slot() == slot)
                        .findFirst()
                        .orElse(null);
        if (held == null) {
            return new Result("free", "slot " + slot + " is free: there is nothing to release");
        }
        String by = "slot " + slot + " is " + HolderView.sentence(held.holder());
        if (holder != null && !holder.equals(held.holder().id())) {
            return new Result("other-holder", by + ", not by " + holder + ": nothing was released");
        } else if (!yes) {
            return new Result("dry-run", by + ": with --yes the fence is raised and the permit is taken away");
        }
        LockAdmin admin = locks.admin();
        if (!admin.forceReleasePermit(permits, slot, held.holder().id())) {
            return new Result("changed-hands", by + " no longer: nothing was released; check again");
        }
        new AuditLog(invocation)
                .write(
                        "release",
                        permits.text() + ", slot " + slot,
                        held.holder().id(),
                        locks.storeDescription());
        return new Result("released", by + " no longer: the permit was released, and the fence was raised before");
    }

    private int told(@Nullable PermitsStatus before, Result result) {
        if (json) {
            Map<String, @Nullable Object> report = new LinkedHashMap<>();
            report.put("command", new Json.Word("permits"));
            report.put("permits", name);
            report.put("outcome", new Json.Word(result.outcome()));
            report.put("before", before == null ? null : before.count());
            invocation.terminal().printJson(report);
        } else {
            invocation.terminal().print("permits \"" + name + "\": " + result.sentence());
        }
        return (result.isDone() ? ExitCode.OK : ExitCode.FOUND).code();
    }

    private static String origin(PermitsStatus status) {
        return status.version() == PermitsStatus.NO_COUNT ? "stated by holders" : "version " + status.version();
    }

    private void show(LockClient locks, LockName permits, @Nullable PermitsStatus status) {
        int waiters = locks.admin().waiters(permits, 100).size();
        if (json) {
            Map<String, @Nullable Object> report = new LinkedHashMap<>();
            report.put("permits", permits.text());
            report.put("count", status == null ? null : status.count());
            report.put("version", status == null ? null : status.version());
            report.put(
                    "held",
                    status == null
                            ? List.of()
                            : status.held().stream()
                                    .map(held -> PermitLines.json(status, held))
                                    .toList());
            report.put("waiters", waiters);
            invocation.terminal().printJson(report);
            return;
        }
        List<String> lines = new ArrayList<>();
        lines.add("permits   " + permits.text());
        lines.add("count     " + (status == null ? "none yet" : status.count() + " (" + origin(status) + ")"));
        lines.add("held      " + (status == null ? 0 : status.held().size()));
        lines.add("waiters   " + (waiters == 0 ? "none in the queue" : waiters));
        if (status != null) {
            lines.addAll(PermitLines.of(List.of(status)));
        }
        invocation.terminal().print(lines);
    }
}
