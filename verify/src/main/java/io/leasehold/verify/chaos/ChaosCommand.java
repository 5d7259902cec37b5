package io.leasehold.verify.chaos;

import io.leasehold.simulator.LeaseKind;
import io.leasehold.verify.client.ControlKind;
import java.nio.file.Path;
import java.time.Duration;
import java.util.EnumSet;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code chaos}: client processes, faults, checkers, one line of figures. */
@Command(
        name = "chaos",
        mixinStandardHelpOptions = true,
        description = {
            "Client JVMs contend for a few locks and update a protected resource, while they are stopped and killed and",
            "their connections fail. At the end checkers read the histories. Exit code: 0 no violation, 1 a violation,",
            "2 the run proves nothing because no lock was acquired, no fault happened, or a lease table's",
            "housekeeping never removed a row. With --control:",
            "0 the broken lock was detected, 1 it was not. 64: invalid options."
        },
        exitCodeOnInvalidInput = 64,
        exitCodeOnExecutionException = 70)
public final class ChaosCommand implements Callable<Integer> {

    /** Called by picocli. */
    public ChaosCommand() {}

    @Spec
    private @Nullable CommandSpec spec;

    @Option(
            names = "--minutes",
            paramLabel = "M",
            description = {
                "Length; fractions are allowed. Default: 1. If no lease was acquired by then, or no ticket gave one,",
                "the run continues until that, at most for another minute."
            })
    private double minutes = 1;

    @Option(
            names = "--store",
            paramLabel = "STORE",
            description =
                    "redis, redlock (5 nodes), sentinel, cluster, sqlite, postgresql, mariadb, zk or etcd. Default: redis")
    private StoreKind store = StoreKind.REDIS;

    @Option(names = "--kind", paramLabel = "KIND", description = "locks, readers, permits or tickets. Default: locks")
    private LeaseKind kind = LeaseKind.LOCKS;

    @Option(names = "--seed", paramLabel = "N", description = "Determines the faults. Default: the clock")
    private long seed = System.currentTimeMillis();

    @Option(names = "--clients", paramLabel = "N", description = "Number of client JVMs. Default: 4")
    private int clients = 4;

    @Option(names = "--locks", paramLabel = "N", description = "Number of locks. Default: 3")
    private int locks = 3;

    @Option(names = "--ttl", paramLabel = "MS", description = "Time to live of their leases in ms. Default: 2000")
    private long ttlMillis = 2_000;

    @Option(
            names = "--control",
            paramLabel = "LOCK",
            arity = "0..1",
            fallbackValue = "DEL_WITHOUT_COMPARE",
            converter = Control.class,
            description = {
                "Runs a lock that is known to break instead, which the checkers must detect: two-step, get-then-set,",
                "fixed-value, del-without-compare (the default), get-then-del, quorum-without-ballot, redisson."
            })
    private @Nullable ControlKind control;

    @Option(
            names = "--fault",
            paramLabel = "GROUP",
            description = "Only these: client, network, server; may be repeated. Default: all")
    private @Nullable Set<FaultGroup> faults;

    @Option(names = "--updates", paramLabel = "N", description = "Updates of the resource under each hold. Default: 1")
    private int updates = 1;

    @Option(
            names = "--ledger",
            paramLabel = "FILE",
            arity = "0..1",
            fallbackValue = "docs/proof/ledger.tsv",
            description = "Adds the figures to this file, or to docs/proof/ledger.tsv.")
    private @Nullable Path ledger;

    @Option(names = "--keep", paramLabel = "DIR", description = "Keeps histories and logs in this new folder.")
    private @Nullable Path keep;

    @Override
    public Integer call() throws Exception {
        refuseUnless(
                minutes > 0 && minutes <= 24 * 60, "--minutes is " + minutes + "; it must be above 0 and at most 1440");
        refuseUnless(clients >= 2 && clients <= 64, "--clients is " + clients + "; it must be between 2 and 64");
        refuseUnless(locks >= 1 && locks <= 1_000, "--locks is " + locks + "; it must be between 1 and 1000");
        refuseUnless(
                ttlMillis >= 500 && ttlMillis <= 60_000,
                "--ttl is " + ttlMillis + "; it must be between 500 and 60000");
        refuseUnless(updates >= 1 && updates <= 10_000, "--updates is " + updates + "; it must be between 1 and 10000");
        StoreKind needed = control != null && control.needsQuorum() ? StoreKind.REDLOCK : StoreKind.REDIS;
        refuseUnless(
                control == null || store == needed,
                "--control " + control + " is a lock in " + needed + "; name that with --store");
        refuseUnless(control == null || kind == LeaseKind.LOCKS, "--control " + control + " is a lock, not " + kind);
        refuseUnless(store.keeps(kind), store + " keeps no " + kind);
        refuseUnless(control == null || ledger == null, "--ledger is for the lock under test, not for a --control");
        ChaosPlan plan = new ChaosPlan(
                store,
                kind,
                Duration.ofMillis((long) (minutes * 60_000)),
                seed,
                clients,
                locks,
                Duration.ofMillis(ttlMillis),
                control,
                updates,
                faults == null ? EnumSet.allOf(FaultGroup.class) : faults,
                keep);
        Verdict verdict = ChaosRun.run(plan);
        verdict.violations().stream().limit(20).forEach(System.err::println);
        if (ledger != null) {
            System.err.println(
                    Ledger.add(ledger, store + (kind == LeaseKind.LOCKS ? "" : " " + kind), verdict.figures()));
        }
        System.out.println(verdict.line());
        return verdict.exitCode();
    }

    private void refuseUnless(boolean fine, String message) {
        if (!fine && spec != null) {
            throw new ParameterException(spec.commandLine(), message);
        }
    }

    /** The name of the control on this command line. */
    static String nameOf(ControlKind control) {
        return control.name().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    /** Controls have the form of options, with hyphens. */
    static final class Control implements CommandLine.ITypeConverter<ControlKind> {
        @Override
        public ControlKind convert(String value) {
            try {
                return ControlKind.valueOf(value.toUpperCase(Locale.ROOT).replace('-', '_'));
            } catch (IllegalArgumentException e) {
                throw new CommandLine.TypeConversionException("\"" + value + "\" is none of them; see --help");
            }
        }
    }
}
