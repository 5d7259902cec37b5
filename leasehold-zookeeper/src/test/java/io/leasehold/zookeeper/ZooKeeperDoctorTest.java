package io.leasehold.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.admin.Finding;
import io.leasehold.admin.Finding.Grade;
import io.leasehold.servers.PortReservation;
import java.nio.file.Path;
import java.util.Map;
import java.util.stream.Collectors;
import org.apache.curator.test.InstanceSpec;
import org.apache.curator.test.TestingServer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The findings of the doctor about real ensembles, good and bad. */
@Tag("quick")
class ZooKeeperDoctorTest {

    private static Map<String, Finding> diagnosed(String uri) {
        try (LockClient locks = Leasehold.connect(uri)) {
            return locks.admin().diagnose().stream()
                    .collect(Collectors.toMap(Finding::check, finding -> finding, (one, other) -> one));
        }
    }

    @Test
    void staysSilentWhereSessionsFit() throws Exception {
        try (TestingServer server = Ensemble.single()) {
            Map<String, Finding> findings = diagnosed(Ensemble.uri(server.getConnectString(), ""));
            assertThat(findings.get("session").grade()).as(findings.toString()).isEqualTo(Grade.GOOD);
            assertThat(findings.get("tick").grade()).as(findings.toString()).isEqualTo(Grade.GOOD);
            assertThat(findings.get("rights").grade()).as(findings.toString()).isEqualTo(Grade.GOOD);
        }
    }

    /** The tick and the largest session timeout that a member has unless zoo.cfg sets others. */
    @Test
    void warnsOfNoSessionAtAMemberWithDefaults() throws Exception {
        InstanceSpec stock = new InstanceSpec(
                null,
                PortReservation.forThisJvm(),
                PortReservation.forThisJvm(),
                PortReservation.forThisJvm(),
                true,
                -1,
                2_000,
                -1,
                Map.of("maxSessionTimeout", "40000"));
        try (TestingServer server = new TestingServer(stock, true);
                LockClient locks = Leasehold.connect("zk://" + server.getConnectString() + "/tests");
                Lease lease = locks.named("x").acquire()) {
            assertThat(lease.isValid()).as("the ttl of 30 s is not refused").isTrue();
            Map<String, Finding> findings = diagnosed("zk://" + server.getConnectString() + "/tests");
            assertThat(findings.get("session").grade()).as(findings.toString()).isEqualTo(Grade.GOOD);
            assertThat(findings.get("session").reason()).contains("40000 ms", "valid for 2s less");
            assertThat(findings.get("tick").grade()).as(findings.toString()).isEqualTo(Grade.GOOD);
        }
    }

    @Test
    void aSessionThatIsCutShortButCoversTheTtlIsGood() throws Exception {
        try (TestingServer server = Ensemble.single()) {
            // Longer than the ensemble's largest timeout: the ensemble grants less than the requested one.
            Map<String, Finding> findings = diagnosed(Ensemble.uri(server.getConnectString(), "&sessionTimeout=1200m"));
            assertThat(findings.get("session").grade()).as(findings.toString()).isEqualTo(Grade.GOOD);
            assertThat(findings.get("session").reason()).contains("3600000 ms where 72000000 ms");
        }
    }

    @Test
    void saysThatASessionIsShorterThanATtl(@TempDir Path directory) {
        try (Member member = new Member(directory)) {
            member.mostSession(20_000);
            Map<String, Finding> findings = diagnosed(member.uri(""));
            assertThat(findings.get("session").grade()).as(findings.toString()).isEqualTo(Grade.WARNING);
            assertThat(findings.get("session").reason()).contains("20000 ms", "refused");
            assertThat(findings.get("session").remedy()).contains("maxSessionTimeout=");
        }
    }

    @Test
    void saysThatATickIsTooCoarse(@TempDir Path directory) {
        try (Member slow = new Member(directory, 10_000)) {
            Map<String, Finding> findings = diagnosed(slow.uri(""));
            assertThat(findings.get("tick").grade()).as(findings.toString()).isEqualTo(Grade.WARNING);
            assertThat(findings.get("tick").reason()).contains("10000 ms");
        }
    }

    @Test
    void saysThatASessionIsMadeLonger(@TempDir Path directory) {
        try (Member member = new Member(directory)) {
            member.leastSession(600_000);
            Map<String, Finding> findings = diagnosed(member.uri(""));
            assertThat(findings.get("session").grade()).as(findings.toString()).isEqualTo(Grade.WARNING);
            assertThat(findings.get("session").remedy()).contains("minSessionTimeout=");
        }
    }
}
