package io.leasehold.checks;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** {@code leasehold-bom/known-vulnerabilities}, against a server that replies as OSV documents it. */
@Tag("full")
class KnownVulnerabilitiesTest {

    private static final String GOOD = "org.example:good:1.0";
    private static final String BAD = "org.example:bad:2.14.1";

    @TempDir
    private Path directory;

    private final List<String> asked = Collections.synchronizedList(new ArrayList<>());
    private HttpServer server;
    private int status = 200;

    @BeforeEach
    void start() throws IOException {
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/v1/query", exchange -> {
            String question = new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);
            asked.add(question);
            byte[] answer = (question.contains("bad")
                            ? "{\"vulns\":[{\"id\":\"GHSA-aaaa-bbbb-cccc\",\"summary\":\"x\"}]}"
                            : "{}")
                    .getBytes(StandardCharsets.UTF_8);
            exchange.sendResponseHeaders(status, answer.length);
            exchange.getResponseBody().write(answer);
            exchange.close();
        });
        server.start();
    }

    @AfterEach
    void stop() {
        server.stop(0);
    }

    private record Said(int code, String out) {}

    private Said check(String accepted, String... artefacts) throws Exception {
        Path list = Files.write(directory.resolve("artefacts"), List.of(artefacts));
        Path exceptions = Files.writeString(directory.resolve("accepted"), accepted);
        Process process = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        Module.root()
                                .resolve("leasehold-bom/fit/KnownVulnerabilities.java")
                                .toString(),
                        "http://127.0.0.1:" + server.getAddress().getPort(),
                        list.toString(),
                        exceptions.toString())
                .redirectErrorStream(true)
                .start();
        process.getOutputStream().close();
        String out = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        return new Said(process.waitFor(), out);
    }

    @Test
    void anArtefactWithAKnownVulnerabilityIsNamedWithIt() throws Exception {
        Said said = check("# none\n", GOOD, BAD);
        assertThat(said.code()).as(said.out()).isEqualTo(1);
        assertThat(said.out()).contains(BAD + " has GHSA-aaaa-bbbb-cccc").doesNotContain(GOOD);
        assertThat(asked)
                .containsExactly(
                        "{\"package\":{\"ecosystem\":\"Maven\",\"name\":\"org.example:good\"},\"version\":\"1.0\"}",
                        "{\"package\":{\"ecosystem\":\"Maven\",\"name\":\"org.example:bad\"},\"version\":\"2.14.1\"}");
    }

    @Test
    void oneThatIsAcceptedWithAReasonPasses() throws Exception {
        Said said = check("GHSA-aaaa-bbbb-cccc nothing of ours calls it\n", GOOD, BAD);
        assertThat(said.code()).as(said.out()).isZero();
    }

    @Test
    void aDatabaseThatCannotBeAskedIsNoPass() throws Exception {
        status = 503;
        Said refused = check("", GOOD);
        assertThat(refused.code()).isEqualTo(69);
        assertThat(refused.out()).startsWith("NOT CHECKED");

        server.stop(0);
        Said gone = check("", GOOD);
        assertThat(gone.code()).isEqualTo(69);
        assertThat(gone.out()).startsWith("NOT CHECKED");
    }
}
