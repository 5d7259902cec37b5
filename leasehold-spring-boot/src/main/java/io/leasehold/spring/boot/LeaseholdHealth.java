package io.leasehold.spring.boot;

import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.LockStoreException;
import java.util.LinkedHashMap;
import java.util.Map;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.ObjectProvider;

/** The health that the indicators of all versions of Boot show. A lost lease does not count, only a store that does not answer. */
final class LeaseholdHealth {

    private static final Logger LOG = LoggerFactory.getLogger("io.leasehold.spring");

    private final ObjectProvider<LockClient> clients;
    private final LeaseStatus status;

    LeaseholdHealth(ObjectProvider<LockClient> clients, LeaseStatus status) {
        this.clients = clients;
        this.status = status;
    }

    /** A lock that is never held: its name is what a store that has failed before is asked about. */
    private static final LockName PROBE = LockName.exactly("leasehold-health");

    /** The status as all versions of Boot name it. */
    String code() {
        return switch (answersNow()) {
            case UNKNOWN -> "UNKNOWN";
            case YES -> "UP";
            case NO -> "OUT_OF_SERVICE";
        };
    }

    /** Asks a store that has failed: an application that is out of service gets no work that would. */
    private LeaseStatus.Answers answersNow() {
        LockClient client = clients.getIfUnique();
        if (status.answers() == LeaseStatus.Answers.NO && client != null) {
            try {
                client.admin().inspect(PROBE);
                status.answered();
            } catch (LockStoreException | IllegalStateException e) {
                LOG.debug("the store for locks does not answer", e);
            }
        }
        return status.answers();
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
