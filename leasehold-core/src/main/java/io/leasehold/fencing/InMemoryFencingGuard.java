package io.leasehold.fencing;

import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;

/** A guard that remembers the largest token of each resource in this process. */
final class InMemoryFencingGuard implements FencingGuard {

    private final ConcurrentHashMap<String, Long> newest = new ConcurrentHashMap<>();

    @Override
    public Admission admit(String resource, long token) {
        Objects.requireNonNull(resource, "resource");
        FencingToken.require(token);
        long largest = newest.merge(resource, token, Math::max);
        return largest == token
                ? new Admission.Admitted(resource, token)
                : new Admission.Rejected(resource, token, largest);
    }
}
