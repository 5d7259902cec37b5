package io.leasehold.fencing;

import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;

/** A guard that remembers the pair of tokens of each resource in this process. */
final class InMemoryFencingGuard implements FencingGuard {

    private final ConcurrentMap<String, TokenPair> pairs;

    InMemoryFencingGuard() {
        this(new ConcurrentHashMap<>());
    }

    InMemoryFencingGuard(ConcurrentMap<String, TokenPair> pairs) {
        this.pairs = pairs;
    }

    @Override
    public Admission admit(String resource, long token) {
        return admit(resource, token, Access.WRITE);
    }

    @Override
    public Admission admit(String resource, long token, Access access) {
        Objects.requireNonNull(resource, "resource");
        while (true) {
            TokenPair seen = pairs.get(resource);
            TokenPair before = seen == null ? TokenPair.NONE : seen;
            Admission admission = before.decide(resource, token, access);
            TokenPair after = before.after(token, access);
            boolean kept = seen == null
                    ? pairs.putIfAbsent(resource, after) == null
                    : after.equals(before) || pairs.replace(resource, before, after);
            if (kept) {
                return admission;
            }
        }
    }
}
