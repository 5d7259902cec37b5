package io.leasehold.spring.boot;

import io.leasehold.LockClient;
import java.util.LinkedHashMap;
import java.util.Map;
import org.springframework.beans.factory.ObjectProvider;

/** What health indicators of all versions of Boot show. A lost lease is no illness: only a store that does not answer is. */
final class LeaseholdHealth {

    private final ObjectProvider<LockClient> clients;
    private final LeaseStatus status;

    LeaseholdHealth(ObjectProvider<LockClient> clients, LeaseStatus status) {
        this.clients = clients;
        this.status = status;
    }

    /** The status as all versions of Boot name it. */
    String code() {
        return switch (status.answers()) {
            case UNKNOWN -> "UNKNOWN";
            case YES -> "UP";
            case NO -> "OUT_OF_SERVICE";
        };
    }

    Map<String, Object> details() {
        Map<String, Object> details = new LinkedHashMap<>();
        LockClient client = clients.getIfUnique();
        if (client != null) {
            details.put("store", client.storeDescription());
            details.put("guarantees", client.guarantees().toString());
        }
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
