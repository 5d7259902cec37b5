package io.leasehold.cli.command;

import io.leasehold.Lease;
import io.leasehold.Permit;
import io.leasehold.cli.StoreOption;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** The environment of a command, as changes to that of this process; null removes a variable. */
final class ChildEnvironment {

    /** Set by the launcher script, which gives the JVM a UTF-8 locale: the caller's LC_ALL after an equals sign. */
    static final String CALLER_LC_ALL = "LEASEHOLD_CALLER_LC_ALL";

    /** The ids of the runs that a run is inside, separated by spaces, the outermost first. */
    static final String HOLDERS = "LEASEHOLD_HOLDERS";

    private ChildEnvironment() {}

    private static String words(List<? extends Number> numbers) {
        return numbers.stream().map(String::valueOf).collect(Collectors.joining(" "));
    }

    static Map<String, @Nullable String> of(
            Lease lease, TimeLeft left, String holderId, Duration ttl, Map<String, String> ours) {
        Map<String, @Nullable String> changes = new HashMap<>();
        changes.put("LEASEHOLD_LOCK", lease.lockName().text());
        changes.put("LEASEHOLD_FENCING_TOKEN", Long.toString(lease.fencingToken()));
        changes.put("LEASEHOLD_HOLDER", holderId);
        changes.put("LEASEHOLD_SLOT", lease instanceof Permit permit ? Integer.toString(permit.slot()) : null);
        LeaseOfPermits several = lease instanceof LeaseOfPermits permits ? permits : null;
        changes.put("LEASEHOLD_SLOTS", several == null ? null : words(several.slots()));
        changes.put("LEASEHOLD_FENCING_TOKENS", several == null ? null : words(several.fencingTokens()));
        String outer = ours.get(HOLDERS);
        changes.put(HOLDERS, outer == null ? holderId : outer + " " + holderId);
        changes.put("LEASEHOLD_TTL_MS", Long.toString(ttl.toMillis()));
        long validityMillis = TimeUnit.NANOSECONDS.toMillis(Math.max(0, left.nanos()));
        changes.put("LEASEHOLD_DEADLINE_EPOCH_MS", Long.toString(System.currentTimeMillis() + validityMillis));
        String store = ours.get(StoreOption.VARIABLE);
        if (store != null && StoreOption.holdsSecret(store)) {
            changes.put(StoreOption.VARIABLE, null);
        }
        String callerLocale = ours.get(CALLER_LC_ALL);
        if (callerLocale != null) {
            changes.put(CALLER_LC_ALL, null);
            changes.put("LC_ALL", callerLocale.startsWith("=") ? callerLocale.substring(1) : null);
        }
        return changes;
    }
}
