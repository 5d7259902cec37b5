package io.leasehold.spring.boot;

import io.leasehold.Lease;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.LockStoreException;
import java.time.Duration;
import java.util.Collection;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.BeansException;
import org.springframework.beans.factory.ObjectProvider;

/**
 * The health that the indicators of all versions of Boot show. Only a store that does not answer counts, not a lost
 * lease.
 */
final class LeaseholdHealth {

    private static final Logger LOG = LoggerFactory.getLogger("io.leasehold.spring");

    /** The name of a lock that is held only for a moment: acquiring it checks a store that has failed before. */
    private static final LockName PROBE = LockName.exactly("leasehold-health");

    private final ObjectProvider<LockClient> clients;
    private final LeaseStatus status;
    private final ConfiguredClients configured;

    LeaseholdHealth(ObjectProvider<LockClient> clients, LeaseStatus status, ConfiguredClients configured) {
        this.clients = clients;
        this.status = status;
        this.configured = configured;
    }

    /** The status code, which is the same in all versions of Boot: with several clients, the worst one. */
    String code() {
        Set<LeaseStatus.Answers> all = EnumSet.of(answersNow(this::ofApplication, status));
        configured.all().values().forEach(one -> all.add(answersNow(() -> List.of(one.client()), one.status())));
        return all.contains(LeaseStatus.Answers.NO)
                ? code(LeaseStatus.Answers.NO)
                : code(all.contains(LeaseStatus.Answers.YES) ? LeaseStatus.Answers.YES : LeaseStatus.Answers.UNKNOWN);
    }

    private static String code(LeaseStatus.Answers answers) {
        return switch (answers) {
            case UNKNOWN -> "UNKNOWN";
            case YES -> "UP";
            case NO -> "OUT_OF_SERVICE";
        };
    }

    /** The clients that report to the common status: all except named ones. */
    private List<LockClient> ofApplication() {
        Collection<ConfiguredClients.Named> named = configured.all().values();
        try {
            return clients.stream()
                    .filter(client ->
                            named.stream().noneMatch(one -> one.client().equals(client)))
                    .toList();
        } catch (BeansException e) {
            // A lazy one that cannot be made now: the last report counts.
            LOG.debug("not all lock clients can be asked", e);
            return List.of();
        }
    }

    /**
     * Acquires a lock at each store of a status that has failed: an application that is out of service receives no work
     * that would do so. A query would not do, since a store that is full, or has become read-only, still answers queries.
     */
    private static LeaseStatus.Answers answersNow(Supplier<List<LockClient>> clients, LeaseStatus status) {
        if (status.hasFailed()) {
            List<LockClient> all = clients.get();
            // The last report of the only client counts. That of one of several says nothing of the other stores.
            boolean isToBeAsked = status.answers() == LeaseStatus.Answers.NO ? !all.isEmpty() : all.size() > 1;
            if (isToBeAsked) {
                // The attempts themselves are reported, too, and the last one need not be the failed one.
                status.answered(all.stream().allMatch(LeaseholdHealth::grants));
            }
        }
        return status.answers();
    }

    private static boolean grants(LockClient client) {
        try (Lease probe = client.named(PROBE).tryAcquire(Duration.ZERO)) {
            LOG.debug("the store for locks has answered again: {}", probe == null ? "busy" : probe);
            return true;
        } catch (LockStoreException | IllegalStateException e) {
            LOG.debug("the store for locks does not grant locks", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        return false;
    }

    Map<String, Object> details() {
        LockClient standard = clients.getIfUnique();
        Map<String, Object> details = described(standard);
        if (standard == null || configured.reports(standard, status)) {
            details.putAll(counts(status));
        }
        Map<String, Object> named = new TreeMap<>();
        configured.all().forEach((name, one) -> {
            Map<String, Object> shown = new LinkedHashMap<>();
            shown.put("status", code(one.status().answers()));
            shown.putAll(described(one.client()));
            shown.putAll(counts(one.status()));
            named.put(name, shown);
        });
        if (!named.isEmpty()) {
            details.put("clients", named);
        }
        return details;
    }

    private static Map<String, Object> described(@Nullable LockClient client) {
        Map<String, Object> details = new LinkedHashMap<>();
        if (client != null) {
            details.put("store", client.storeDescription());
            details.put("guarantees", client.guarantees().toString());
        }
        return details;
    }

    private static Map<String, Object> counts(LeaseStatus status) {
        Map<String, Object> details = new LinkedHashMap<>();
        details.put(
                "held",
                status.held().stream().mapToInt(LeaseStatus.Count::count).sum());
        details.put(
                "waiting",
                status.waiting().stream().mapToInt(LeaseStatus.Count::count).sum());
        details.put("lost", status.lostSinceStart());
        return details;
    }
}
