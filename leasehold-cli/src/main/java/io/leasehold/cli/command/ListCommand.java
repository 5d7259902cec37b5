package io.leasehold.cli.command;

import io.leasehold.LockClient;
import io.leasehold.LockStoreException;
import io.leasehold.admin.PermitsStatus;
import io.leasehold.cli.ExitCode;
import io.leasehold.cli.Invocation;
import io.leasehold.cli.StoreOption;
import io.leasehold.cli.output.Style;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code leasehold ls}: the locks and permits that are held now. */
@Command(
        name = "ls",
        header = "Lists the locks and permits that are held now.",
        description = {
            "Each line names the holder, its command, since when it holds, and how many wait.",
            "Permits follow the locks. With --json, permits are listed with --permits only."
        })
public final class ListCommand implements Callable<Integer> {

    static final String GLOB = "Only locks whose names match GLOB; * matches any text, ? one character.";

    private final Invocation invocation;
    private final StoreOption store;

    @Parameters(index = "0", arity = "0..1", paramLabel = "GLOB", description = GLOB)
    private String glob = "*";

    @Option(names = "--limit", paramLabel = "N", description = "Lists at most N locks and N names of permits (1000).")
    private int limit = 1000;

    @Option(names = "--permits", description = "Lists permits only.")
    private boolean permitsOnly;

    @Option(names = "--json", description = "Writes one line of JSON for each lock, or with --permits for each permit.")
    private boolean json;

    /** A command of this invocation. */
    public ListCommand(Invocation invocation, StoreOption store) {
        this.invocation = invocation;
        this.store = store;
    }

    @Override
    public Integer call() {
        if (limit < 1) {
            throw new IllegalArgumentException("--limit is " + limit + "; it must be at least 1");
        }
        Listing listing;
        HeldTable held;
        List<PermitsStatus> permits;
        try (LockClient locks = StoreAccess.openExisting(invocation, store);
                Progress progress = Progress.of(locks.admin(), invocation.terminal())) {
            listing = permitsOnly ? new Listing(List.of(), false) : Listing.of(locks.admin(), glob, limit);
            held = HeldTable.of(locks, listing.held());
            // A script that reads lines of locks must not meet lines of another shape among them.
            permits = json && !permitsOnly ? List.of() : permits(locks);
        }
        if (!permitsOnly) {
            print(held);
        }
        print(permits);
        if (listing.isCut()) {
            invocation.terminal().complain(listing.remark());
        }
        return ExitCode.OK.code();
    }

    /** At most so many names. If locks are listed as well, permits that cannot be read do not fail the command. */
    private List<PermitsStatus> permits(LockClient locks) {
        try {
            List<PermitsStatus> found = locks.admin().listPermits(glob, limit == Integer.MAX_VALUE ? limit : limit + 1);
            if (found.size() <= limit) {
                return found;
            }
            invocation.terminal().complain("permits of more than " + limit + " names: raise --limit to see the rest");
            return found.subList(0, limit);
        } catch (LockStoreException unread) {
            if (permitsOnly) {
                throw unread;
            }
            invocation.terminal().complain("permits are not listed: " + unread.getMessage());
            return List.of();
        }
    }

    private void print(HeldTable held) {
        if (json) {
            held.rows().forEach(row -> invocation.terminal().printJson(json(row)));
        } else {
            held.lines(row -> Style.PLAIN).forEach(invocation.terminal()::print);
        }
    }

    private void print(List<PermitsStatus> permits) {
        if (json) {
            permits.forEach(status ->
                    status.held().forEach(held -> invocation.terminal().printJson(PermitLines.json(status, held))));
        } else {
            invocation.terminal().print(PermitLines.of(permits));
        }
    }

    private static Map<String, @Nullable Object> json(HeldTable.Row row) {
        Map<String, @Nullable Object> json = new LinkedHashMap<>();
        json.put("lock", row.lock().name().text());
        json.put("holder", HolderView.json(row.lock().holder()));
        Instant since = row.since();
        json.put("since", since == null ? null : since.toString());
        json.put("waiters", row.waiters());
        return json;
    }
}
