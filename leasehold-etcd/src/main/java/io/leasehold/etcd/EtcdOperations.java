package io.leasehold.etcd;

import io.leasehold.admin.Finding;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.StoreOperations;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** Diagnoses a cluster of etcd: its members, their quorum and their alarms. */
final class EtcdOperations implements StoreOperations {

    private final EtcdUri uri;
    private final EtcdCalls etcd;
    private final LockRuntime runtime;

    EtcdOperations(EtcdUri uri, EtcdCalls etcd, LockRuntime runtime) {
        this.runtime = runtime;
        this.uri = uri;
        this.etcd = etcd;
    }

    @Override
    public CompletableFuture<List<Finding>> diagnose() {
        return etcd.members()
                .thenCombine(etcd.silentMembers(runtime), (members, silent) -> quorum(uri.toString(), members, silent))
                .exceptionally(refused ->
                        Finding.unknown("quorum", uri + " does not tell its members: " + refused.getMessage(), null))
                .thenCombine(
                        etcd.alarms()
                                .thenApply(alarms -> alarms(uri.toString(), alarms))
                                .exceptionally(refused -> Finding.unknown(
                                        "alarms", uri + " does not tell its alarms: " + refused.getMessage(), null)),
                        (quorum, alarms) -> new ArrayList<>(List.of(quorum, alarms)));
    }

    static Finding quorum(String store, int members, int silent) {
        int needed = members / 2 + 1;
        String what = store + " has " + members + " member(s), of which " + silent + " do not answer";
        if (members - silent < needed) {
            return Finding.unsafe("quorum", what + ": no majority, no lock is granted", "start the members again");
        } else if (silent > 0) {
            return Finding.warning("quorum", what, "start them again before another one fails");
        } else if (members < 3) {
            return Finding.warning(
                    "quorum",
                    what + ": if one fails, no lock is granted",
                    "run three or five members, on machines of" + " their own");
        } else if (members % 2 == 0) {
            return Finding.warning(
                    "quorum", what + ": an even number survives no more failures than one less", "add or remove one");
        }
        return Finding.good("quorum", what);
    }

    static Finding alarms(String store, List<String> alarms) {
        return alarms.isEmpty()
                ? Finding.good("alarms", store + " has no alarm")
                : Finding.unsafe(
                        "alarms",
                        store + " has the alarm " + String.join(", ", alarms) + ": it takes no writes, so no lock is"
                                + " granted or renewed",
                        "etcdctl compact, defrag, then etcdctl alarm disarm; raise --quota-backend-bytes");
    }
}
