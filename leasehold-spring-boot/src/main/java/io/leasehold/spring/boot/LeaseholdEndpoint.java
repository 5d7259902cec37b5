package io.leasehold.spring.boot;

import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.admin.QueuedWaiter;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.springframework.boot.actuate.endpoint.Access;
import org.springframework.boot.actuate.endpoint.annotation.DeleteOperation;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.annotation.Selector;

/**
 * {@code /actuator/leasehold}: what this process holds and waits for; with a name, who holds it at the store. A forced release is a write,
 * and only there with {@code management.endpoint.leasehold.access=unrestricted}.
 */
@Endpoint(id = "leasehold", defaultAccess = Access.READ_ONLY)
final class LeaseholdEndpoint {

    private static final int MAX_WAITERS = 100;

    private final LockClient client;
    private final LeaseStatus status;

    LeaseholdEndpoint(LockClient client, LeaseStatus status) {
        this.client = client;
        this.status = status;
    }

    @ReadOperation
    public Map<String, Object> overview() {
        Map<String, Object> shown = new LinkedHashMap<>();
        shown.put("store", client.storeDescription());
        shown.put("guarantees", client.guarantees().toString());
        shown.put("client", client.holderId());
        shown.put("held", status.held());
        shown.put("waiting", status.waiting());
        shown.put("lost", status.lostSinceStart());
        return shown;
    }

    @ReadOperation
    public Map<String, Object> lock(@Selector String name) {
        LockName lock = LockName.exactly(name);
        Map<String, Object> shown = new LinkedHashMap<>();
        shown.put("lock", name);
        client.admin().inspect(lock).ifPresent(holder -> shown.put("holder", holder.id()));
        List<QueuedWaiter> waiters = client.admin().waiters(lock, MAX_WAITERS);
        shown.put("waiters", waiters.stream().map(QueuedWaiter::toString).toList());
        return shown;
    }

    @DeleteOperation
    public Map<String, Object> forceRelease(@Selector String name) {
        return Map.of("lock", name, "released", client.admin().forceRelease(LockName.exactly(name), null));
    }
}
