package io.leasehold.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.admin.Finding;
import io.leasehold.admin.Finding.Grade;
import java.time.Duration;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The findings of the doctor about the session that an ensemble granted, and about its tick. */
@Tag("quick")
class ZooKeeperOperationsTest {

    private static final Duration NOTHING = Duration.ZERO;

    @Test
    void aSessionThatCoversTheTtlIsGood() {
        Finding whole = ZooKeeperOperations.session("e", 42_000, 42_000, NOTHING);
        assertThat(whole.grade()).isEqualTo(Grade.GOOD);
        assertThat(whole.reason()).isEqualTo("e grants a session of 42000 ms: enough for a ttl of 30s");
        Finding stock = ZooKeeperOperations.session("e", 42_000, 40_000, Duration.ofSeconds(2));
        assertThat(stock.grade()).isEqualTo(Grade.GOOD);
        assertThat(stock.reason())
                .isEqualTo("e grants a session of 40000 ms where 42000 ms were requested: leases with a ttl of 30s are"
                        + " valid for 2s less");
        assertThat(ZooKeeperOperations.session("e", 30_000, 30_000, Duration.ofSeconds(12)))
                .satisfies(shortest -> assertThat(shortest.grade()).isEqualTo(Grade.GOOD))
                .satisfies(shortest -> assertThat(shortest.reason()).endsWith("are valid for 12s less"));
    }

    @Test
    void aSessionIsNoShorterThanTheTtl() {
        Finding shorter = ZooKeeperOperations.session("e", 42_000, 29_999, Duration.ofSeconds(12));
        assertThat(shorter.grade()).isEqualTo(Grade.WARNING);
        assertThat(shorter.reason()).contains("grants a session of 29999 ms").contains("a ttl of 30s are refused");
        assertThat(shorter.remedy()).contains("maxSessionTimeout=42000");
        Finding fixed = ZooKeeperOperations.session("e", 2_000, 2_000, Duration.ofSeconds(29));
        assertThat(fixed.grade()).isEqualTo(Grade.WARNING);
        assertThat(fixed.remedy()).contains("sessionTimeout").doesNotContain("zoo.cfg");
    }

    @Test
    void aSessionIsNotMadeLonger() {
        Finding longer = ZooKeeperOperations.session("e", 42_000, 42_001, NOTHING);
        assertThat(longer.grade()).isEqualTo(Grade.WARNING);
        assertThat(longer.reason()).contains("makes 42000 ms a session of 42001 ms");
        assertThat(longer.remedy()).contains("minSessionTimeout=42000");
    }

    @Test
    void aTickIsAtMostASixthOfASession() {
        assertThat(ZooKeeperOperations.tick("e", 42_000, 7_000).grade()).isEqualTo(Grade.GOOD);
        Finding coarse = ZooKeeperOperations.tick("e", 42_000, 7_001);
        assertThat(coarse.grade()).isEqualTo(Grade.WARNING);
        assertThat(coarse.check()).isEqualTo("tick");
        assertThat(coarse.reason()).contains("7001 ms").contains("42000");
    }
}
