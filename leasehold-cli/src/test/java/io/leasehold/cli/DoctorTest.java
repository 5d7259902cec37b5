package io.leasehold.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.abort;

import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.admin.Finding;
import io.leasehold.admin.Finding.Grade;
import io.leasehold.servers.ClockShim;
import io.leasehold.servers.RedisServer;
import io.leasehold.servers.ServerUnavailableException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests of the findings about real servers: with wrong clocks, with hardly a free connection, and healthy ones. */
@Tag("quick")
class DoctorTest {

    private static Finding finding(String uri, String check, String about) {
        try (LockClient locks = Leasehold.connect(uri)) {
            List<Finding> findings = locks.admin().diagnose();
            return findings.stream()
                    .filter(finding ->
                            finding.check().equals(check) && finding.reason().contains(about))
                    .findFirst()
                    .orElseThrow(() -> new AssertionError(check + " in " + findings));
        }
    }

    private static ClockShim shim() {
        try {
            return ClockShim.compile();
        } catch (ServerUnavailableException e) {
            return abort("no clock can be moved here: " + e.getMessage());
        }
    }

    private static RedisServer start(ClockShim shim) {
        try {
            return RedisServer.builder().clock(shim.clock()).start();
        } catch (ServerUnavailableException e) {
            return abort("no server here whose clock can be moved: " + e.getMessage());
        }
    }

    @Test
    void aServersClockIsComparedWithOurs() {
        try (ClockShim shim = shim();
                RedisServer server = start(shim)) {
            assertThat(finding(server.uri(), "clock", "").grade()).isEqualTo(Grade.GOOD);
            assertThat(finding(server.uri(), "restart", "").grade()).isEqualTo(Grade.WARNING);
            server.clock().step(Duration.ofHours(1));
            Finding wrong = finding(server.uri(), "clock", "");
            assertThat(wrong.grade()).as(wrong.toString()).isEqualTo(Grade.WARNING);
            // Its own clock shows an uptime of an hour.
            assertThat(finding(server.uri(), "restart", "").grade()).isEqualTo(Grade.GOOD);
        }
    }

    @Test
    void clocksOfNodesAreComparedWithEachOther() {
        try (ClockShim shim = shim();
                RedisServer one = start(shim);
                RedisServer two = start(shim);
                RedisServer three = start(shim)) {
            StringBuilder set = new StringBuilder("redlock:?maxTtl=30s");
            for (RedisServer server : List.of(one, two, three)) {
                set.append("&node=").append(URLEncoder.encode(server.uri(), StandardCharsets.UTF_8));
            }
            assertThat(finding(set.toString(), "clock", "clocks of the nodes").grade())
                    .isEqualTo(Grade.GOOD);
            three.clock().step(Duration.ofMinutes(10));
            Finding apart = finding(set.toString(), "clock", "clocks of the nodes");
            assertThat(apart.grade()).as(apart.toString()).isEqualTo(Grade.WARNING);
            assertThat(apart.remedy()).contains("never step");
        }
    }

    @Test
    void connectionsAreCountedAgainstTheirLimit() throws IOException {
        try (RedisServer server = RedisServer.builder().config("maxclients 40").start()) {
            assertThat(finding(server.uri(), "connections", "").grade()).isEqualTo(Grade.GOOD);
            List<Socket> others = new ArrayList<>();
            try {
                for (int i = 0; i < 33; i++) {
                    others.add(new Socket(InetAddress.getLoopbackAddress(), server.port()));
                }
                Finding full = finding(server.uri(), "connections", "");
                assertThat(full.grade()).as(full.toString()).isEqualTo(Grade.WARNING);
                assertThat(full.remedy())
                        .startsWith("CONFIG SET maxclients 80;")
                        .endsWith("CONFIG REWRITE");
            } finally {
                for (Socket socket : others) {
                    socket.close();
                }
            }
        }
    }
}
