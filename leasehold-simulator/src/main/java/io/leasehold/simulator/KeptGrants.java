package io.leasehold.simulator;

import io.leasehold.LockName;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.TokenRange;
import io.leasehold.testkit.virtual.VirtualRuntime;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** The grants of a node in all its lives, and until when it keeps each, or would keep it if it lost nothing. */
final class KeptGrants {

    private final VirtualRuntime host;
    /** The grants of each name: first and last token, one after the other. */
    private final Map<LockName, List<GrantedTokens>> granted = new HashMap<>();
    /** The time, on the clock of the node, until which it keeps each grant. */
    private final Map<Kept, Long> keptUntilAtNanos = new HashMap<>();

    private record GrantedTokens(OwnerToken owner, TokenRange tokens) {}

    private record Kept(LockName name, OwnerToken owner) {}

    KeptGrants(VirtualRuntime host) {
        this.host = host;
    }

    void granted(LockName name, OwnerToken owner, TokenRange tokens, long ttlNanos) {
        granted.computeIfAbsent(name, n -> new ArrayList<>()).add(new GrantedTokens(owner, tokens));
        keeps(name, owner, ttlNanos);
    }

    void keeps(LockName name, OwnerToken owner, long ttlNanos) {
        keptUntilAtNanos.merge(new Kept(name, owner), host.nanoTime() + ttlNanos, Math::max);
    }

    /** Whether this token was ever granted to this owner token. */
    boolean everGranted(LockName name, long token, OwnerToken owner) {
        List<GrantedTokens> all = granted.getOrDefault(name, List.of());
        for (int i = all.size() - 1; i >= 0; i--) {
            TokenRange tokens = all.get(i).tokens();
            if (tokens.first() <= token
                    && token <= tokens.last()
                    && all.get(i).owner().equals(owner)) {
                return true;
            }
        }
        return false;
    }

    /** Whether the node has promised to keep this hold until then, in the world's time. */
    boolean keepsUntil(LockName name, OwnerToken owner, long worldNanos) {
        Long endsAtNanos = keptUntilAtNanos.get(new Kept(name, owner));
        return endsAtNanos != null && host.worldNanosAfter(endsAtNanos - host.nanoTime()) - worldNanos >= 0;
    }
}
