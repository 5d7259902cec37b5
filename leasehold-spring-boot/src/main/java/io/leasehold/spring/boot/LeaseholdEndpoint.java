package io.leasehold.spring.boot;

import io.leasehold.Holder;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.LockStoreException;
import io.leasehold.admin.QueuedWaiter;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.actuate.endpoint.Access;
import org.springframework.boot.actuate.endpoint.InvalidEndpointRequestException;
import org.springframework.boot.actuate.endpoint.annotation.DeleteOperation;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.annotation.Selector;

/**
 * The endpoint {@code /actuator/leasehold}: the locks that this process holds and waits for; {@code /{name}}: the
 * holder, readers and permits of a name at the store; {@code /{client}/{name}}: the same for a named client. A forced release is a write
 * operation, and needs {@code management.endpoint.leasehold.access=unrestricted}.
 */
@Endpoint(id = "leasehold", defaultAccess = Access.READ_ONLY)
final class LeaseholdEndpoint {

    private static final Logger LOG = LoggerFactory.getLogger("io.leasehold.spring");

    private static final int MAX_WAITERS = 100;
    private static final int MAX_READERS = 100;

    private final ObjectProvider<LockClient> clients;
    private final LeaseStatus status;
    private final ConfiguredClients configured;

    LeaseholdEndpoint(ObjectProvider<LockClient> clients, LeaseStatus status, ConfiguredClients configured) {
        this.clients = clients;
        this.status = status;
        this.configured = configured;
    }

    @ReadOperation
    public Map<String, Object> overview() {
        LockClient standard = clients.getIfUnique();
        Map<String, Object> shown =
                overview(standard, status, standard == null || configured.reports(standard, status));
        Map<String, Object> named = new TreeMap<>();
        configured.all().forEach((name, one) -> named.put(name, overview(one.client(), one.status(), true)));
        if (!named.isEmpty()) {
            shown.put("clients", named);
        }
        return shown;
    }

    private static Map<String, Object> overview(@Nullable LockClient client, LeaseStatus status, boolean reports) {
        Map<String, Object> shown = new LinkedHashMap<>();
        if (client != null) {
            shown.put("store", client.storeDescription());
            shown.put("guarantees", client.guarantees().toString());
            shown.put("client", client.holderId());
        }
        if (reports) {
            shown.put("held", status.held());
            shown.put("waiting", status.waiting());
            shown.put("lost", status.lostSinceStart());
        }
        return shown;
    }

    @ReadOperation
    public Map<String, Object> lock(@Selector String name) {
        return lock(standard(), name);
    }

    @ReadOperation
    public Map<String, Object> lockAt(@Selector String client, @Selector String name) {
        return lock(named(client), name);
    }

    private static Map<String, Object> lock(LockClient client, String name) {
        LockName lock = LockName.exactly(name);
        Map<String, Object> shown = new LinkedHashMap<>();
        shown.put("lock", name);
        client.admin()
                .inspect(lock)
                .filter(holder -> !holder.isReaders())
                .ifPresent(holder -> shown.put("holder", holder.id()));
        List<Holder> readers = client.admin().readers(lock, MAX_READERS);
        if (!readers.isEmpty()) {
            shown.put("readers", readers.stream().map(Holder::id).toList());
        }
        shown.put("waiters", waiters(client, lock));
        permits(client, lock).ifPresent(permits -> shown.put("permits", permits));
        return shown;
    }

    private static List<String> waiters(LockClient client, LockName lock) {
        return client.admin().waiters(lock, MAX_WAITERS).stream()
                .map(QueuedWaiter::toString)
                .toList();
    }

    /**
     * The permits of the name; empty if none is in use, or the store does not show them: it keeps none, or its user lacks
     * the right.
     */
    private static Optional<Map<String, Object>> permits(LockClient client, LockName lock) {
        try {
            return client.admin().permits(lock).map(status -> {
                Map<String, Object> shown = new LinkedHashMap<>();
                shown.put("count", status.count());
                Map<Integer, String> held = new TreeMap<>();
                status.held().forEach(one -> held.put(one.slot(), one.holder().id()));
                shown.put("held", held);
                shown.put("waiters", waiters(client, lock.asPermits()));
                return shown;
            });
        } catch (LockStoreException e) {
            LOG.debug("the permits of {} cannot be shown", lock, e);
            return Optional.empty();
        }
    }

    @DeleteOperation
    public Map<String, Object> forceRelease(@Selector String name) {
        return forceRelease(standard(), name);
    }

    @DeleteOperation
    public Map<String, Object> forceReleaseAt(@Selector String client, @Selector String name) {
        return forceRelease(named(client), name);
    }

    private static Map<String, Object> forceRelease(LockClient client, String name) {
        return Map.of("lock", name, "released", client.admin().forceRelease(LockName.exactly(name), null));
    }

    private LockClient standard() {
        LockClient client = clients.getIfUnique();
        if (client == null) {
            throw unknown("there is no client without a name");
        }
        return client;
    }

    private LockClient named(String name) {
        ConfiguredClients.Named client = configured.all().get(name);
        if (client == null) {
            throw unknown("there is no client \"" + name + "\"");
        }
        return client.client();
    }

    private InvalidEndpointRequestException unknown(String problem) {
        String reason = problem + "; the named clients are "
                + new TreeSet<>(configured.all().keySet());
        return new InvalidEndpointRequestException(reason, reason);
    }
}
