package io.leasehold.testkit.tck;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.leasehold.Lease;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.admin.LockAdmin;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Tests of names: every valid name is a separate lock, exactly as it is written. */
public interface LockNamesTck extends SharesStore {

    /** Names that a store might confuse are held at the same time, each is busy, and each is found under its name. */
    @Test
    default void everyNameIsALockOfItsOwn(TckBench bench) throws InterruptedException {
        LockClient client = bench.client();
        LockClient other = bench.client();
        List<LockName> names = new ArrayList<>();
        for (String rest : EasilyMixedUp.NAMES.split("\\|", -1)) {
            names.add(bench.name(rest));
        }
        names.add(filledTo(bench, "x"));
        names.add(filledTo(bench, "😀"));
        List<Lease> leases = new ArrayList<>();
        for (LockName name : names) {
            Lease lease = client.named(name).tryAcquire(Duration.ZERO);
            assertNotNull(lease, "\"" + name + "\" is not a lock of its own");
            assertEquals(name, lease.lockName());
            leases.add(lease);
        }
        for (LockName name : names) {
            assertNull(other.named(name).tryAcquire(Duration.ZERO), "\"" + name + "\" is not held");
            assertEquals(
                    client.holderId(), other.admin().inspect(name).orElseThrow().id());
        }
        List<LockName> listed = other.admin().list(bench.prefix() + "*", 1_000).stream()
                .map(LockAdmin.HeldLock::name)
                .sorted()
                .toList();
        assertEquals(names.stream().sorted().toList(), listed);
        leases.forEach(Lease::release);
        assertEquals(List.of(), other.admin().list(bench.prefix() + "*", 1_000));
    }

    /** A name of exactly the largest length in bytes. */
    private static LockName filledTo(TckBench bench, String unit) {
        StringBuilder text = new StringBuilder(bench.prefix());
        int unitBytes = unit.getBytes(StandardCharsets.UTF_8).length;
        int left = LockName.MAX_BYTES - text.length();
        text.append("y".repeat(left % unitBytes)).append(unit.repeat(left / unitBytes));
        assertEquals(LockName.MAX_BYTES, text.toString().getBytes(StandardCharsets.UTF_8).length);
        return LockName.exactly(text.toString());
    }
}
