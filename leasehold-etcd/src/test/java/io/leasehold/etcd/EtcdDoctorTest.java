package io.leasehold.etcd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.abort;

import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockStoreException;
import io.leasehold.admin.Finding;
import io.leasehold.admin.Finding.Grade;
import io.leasehold.servers.EtcdServer;
import io.leasehold.servers.ServerUnavailableException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The findings of the doctor about real clusters of etcd, good and bad. */
@Tag("full")
class EtcdDoctorTest {

    private static Map<String, Finding> diagnosed(String endpoints) {
        try (LockClient locks = Leasehold.connect("etcd://" + endpoints + "/doctor")) {
            return byCheck(locks);
        }
    }

    private static Map<String, Finding> byCheck(LockClient locks) {
        return locks.admin().diagnose().stream()
                .collect(Collectors.toMap(Finding::check, finding -> finding, (one, other) -> one));
    }

    @Test
    void staysSilentAtThreeMembersAndSpeaksWhenOneIsGone() {
        List<EtcdServer> members;
        try {
            members = EtcdServer.startCluster(3);
        } catch (ServerUnavailableException e) {
            abort(e.getMessage());
            return;
        }
        try {
            String endpoints =
                    members.stream().map(member -> "127.0.0.1:" + member.port()).collect(Collectors.joining(","));
            Map<String, Finding> healthy = diagnosed(endpoints);
            assertThat(healthy.get("quorum").grade()).as(healthy.toString()).isEqualTo(Grade.GOOD);
            assertThat(healthy.get("alarms").grade()).as(healthy.toString()).isEqualTo(Grade.GOOD);
            assertThat(healthy.get("rights").grade()).as(healthy.toString()).isEqualTo(Grade.GOOD);
            members.get(2).kill();
            Finding quorum = diagnosed("127.0.0.1:" + members.get(0).port()).get("quorum");
            assertThat(quorum.grade()).as(quorum.toString()).isEqualTo(Grade.WARNING);
            assertThat(quorum.reason()).contains("1 do not answer");
        } finally {
            members.forEach(EtcdServer::close);
        }
    }

    @Test
    void warnsOfASingleMember() {
        try (EtcdServer single = EtcdTckTest.startOrSkip()) {
            assertThat(diagnosed("127.0.0.1:" + single.port()).get("quorum").grade())
                    .isEqualTo(Grade.WARNING);
        }
    }

    @Test
    void saysThatAClusterWithoutSpaceGrantsNothing() {
        try (EtcdServer small = EtcdTckTest.startOrSkip("--quota-backend-bytes=" + 256 * 1024);
                LockClient locks = Leasehold.connect("etcd://127.0.0.1:" + small.port() + "/doctor")) {
            assertThatThrownBy(() -> {
                        for (int i = 0; i < 1_000; i++) {
                            try (Lease lease =
                                    locks.named("x".repeat(1_000) + i).tryAcquire(Duration.ofSeconds(5))) {
                                assertThat(lease).isNotNull();
                            }
                        }
                    })
                    .isInstanceOf(LockStoreException.class)
                    .hasMessageContaining("no room");
            Finding alarms = byCheck(locks).get("alarms");
            assertThat(alarms.grade()).as(alarms.toString()).isEqualTo(Grade.UNSAFE);
            assertThat(alarms.reason()).contains("NOSPACE");
            assertThat(alarms.remedy()).contains("etcdctl alarm disarm");
        }
    }
}
