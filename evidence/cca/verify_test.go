package cca

import (
	"bytes"
	"crypto/elliptic"
	"errors"
	"fmt"
	"testing"

	cose "github.com/veraison/go-cose"

	"github.com/joulebox/joulebox/bundle"
	"github.com/joulebox/joulebox/evidence"
	"github.com/joulebox/joulebox/evidence/evidencetest"
)

// makers are tokens of every form that is read.
func makers(t testing.TB) map[string]*maker {
	t.Helper()
	all := map[string]*maker{"2023": newMaker(t), "2023, P-256": newMaker(t), "before 2023": newMaker(t), "wrapped": newMaker(t)}
	all["2023, P-256"].platformKey = newKey(t, elliptic.P256())
	all["wrapped"].wrapped = true
	old := all["before 2023"]
	old.p.Profile, old.r.Profile, old.r.KeyHashAlgorithm = profile0, "", "sha-512"
	old.setRealmKey(t, old.realmKey)
	return all
}

func TestSuite(t *testing.T) {
	var goods []evidencetest.Good
	for name, m := range makers(t) {
		goods = append(goods, evidencetest.Good{Name: name, Report: m.token(t), Collateral: m.collateral(t), Policy: m.careful(), Timeless: true})
	}
	evidencetest.Suite(t, Verifier{}, goods)
}

func TestEveryByteCounts(t *testing.T) {
	for name, m := range makers(t) {
		if testing.Short() && name != "2023" {
			continue
		}
		c, p := m.collateral(t), m.careful()
		evidencetest.Flip(t, name, m.token(t), nil, func(b []byte) bool { return Verifier{}.Verify(b, c, p).Verdict != bundle.Invalid })
	}
}

// Firmware's order of claims is its own.
func TestOrderOfClaims(t *testing.T) {
	m := newMaker(t)
	token := m.collect(sign(t, m.platformKey, reordered(t, marshal(t, &m.p))), sign(t, m.realmKey, reordered(t, marshal(t, &m.r))))
	evidencetest.Want(t, "reordered", Verifier{}.Verify(token, m.collateral(t), m.careful()), bundle.Valid, "")
}

// Each demand of the policy, not met by a token that is otherwise the sample.
func TestDemands(t *testing.T) {
	for name, x := range map[string]struct {
		change func(*maker)
		reason evidence.Reason
		only   string
	}{
		"an unknown life":   {func(m *maker) { m.p.Lifecycle = 0 }, evidence.Unmet, "lifecycle"},
		"assembly":          {func(m *maker) { m.p.Lifecycle = 0x1000 }, evidence.Unmet, "lifecycle"},
		"decommissioned":    {func(m *maker) { m.p.Lifecycle = 0x6000 }, evidence.Unmet, "lifecycle"},
		"debug":             {func(m *maker) { m.p.Lifecycle = 0x4000 }, evidence.Debug, "debug"},
		"debug of the root": {func(m *maker) { m.p.Lifecycle = 0x50ff }, evidence.Debug, "debug"},
		"measurement":       {func(m *maker) { m.r.Initial[0]++ }, evidence.Measurement, "measurement"},
		"challenge":         {func(m *maker) { m.r.Challenge[63]++ }, evidence.ReportData, "report_data"},
		"firmware":          {func(m *maker) { m.p.Software[1].Measurement[0]++ }, evidence.TCB, "tcb"},
		"one more": {func(m *maker) {
			m.p.Software = append(m.p.Software, component{Measurement: fill(32, 0), Signer: fill(32, 0)})
		}, evidence.TCB, "tcb"},
		"a register":          {func(m *maker) { m.r.Extensible[3][0]++ }, evidence.Measurement, "extensible_measurement_3"},
		"personalization":     {func(m *maker) { m.r.Personalization[0]++ }, evidence.HostData, "personalization_value"},
		"implementation":      {func(m *maker) { m.p.Implementation[0]++ }, evidence.Unmet, "implementation_id"},
		"configuration":       {func(m *maker) { m.p.Config[0]++ }, evidence.Unmet, "platform_config"},
		"another instance id": {func(m *maker) { m.p.InstanceID[32]++ }, evidence.Unmet, "instance_id"},
	} {
		m := newMaker(t)
		p := newMaker(t).careful() // of the same values, in memory of its own
		x.change(m)
		a := Verifier{}.Verify(m.token(t), m.collateral(t), p)
		evidencetest.Want(t, name, a, bundle.Invalid, x.reason)
		for _, k := range a.Checks {
			if (k.Status == bundle.Fail) != (k.Name == x.only) {
				t.Errorf("%s: check %s is %s: %s", name, k.Name, k.Status, k.Detail)
			}
		}
	}
	m := newMaker(t)
	p := m.careful()
	p.ArmCca.SoftwareMeasurements = nil
	evidencetest.Want(t, "no firmware stated", Verifier{}.Verify(m.token(t), m.collateral(t), p), bundle.Incomplete, evidence.Unstated)
	p = m.careful()
	p.ArmCca.ExtensibleMeasurements = append(p.ArmCca.ExtensibleMeasurements, []evidence.Hex{fill(64, 0)})
	evidencetest.Want(t, "a fifth register", Verifier{}.Verify(m.token(t), m.collateral(t), p), bundle.Invalid, evidence.Unmet)
}

// Tokens that aren't genuine, or aren't tokens.
func TestNotGenuine(t *testing.T) {
	other := newMaker(t)
	replace := func(old, new string) func(*testing.T, *maker) []byte {
		return func(t *testing.T, m *maker) []byte {
			token := m.token(t)
			if !bytes.Contains(token, []byte(old)) {
				t.Fatalf("the token has no %x", old)
			}
			return bytes.Replace(token, []byte(old), []byte(new), 1)
		}
	}
	changed := func(change func(*maker)) func(*testing.T, *maker) []byte {
		return func(t *testing.T, m *maker) []byte {
			change(m)
			return m.token(t)
		}
	}
	for name, x := range map[string]struct {
		build  func(*testing.T, *maker) []byte
		reason evidence.Reason
	}{
		"another platform's signature": {changed(func(m *maker) { m.platformKey = other.platformKey }), evidence.Signature},
		"another realm's signature":    {changed(func(m *maker) { m.realmKey = other.realmKey }), evidence.Signature},
		"another realm's key":          {changed(func(m *maker) { m.r.PublicKey, m.realmKey = other.r.PublicKey, other.realmKey }), evidence.KeyMismatch},
		"another realm": {func(t *testing.T, m *maker) []byte {
			return m.collect(sign(t, m.platformKey, marshal(t, &m.p)), sign(t, other.realmKey, marshal(t, &other.r)))
		}, evidence.KeyMismatch},
		"platform and realm swapped": {func(t *testing.T, m *maker) []byte {
			return m.collect(sign(t, m.realmKey, marshal(t, &m.r)), sign(t, m.platformKey, marshal(t, &m.p)))
		}, evidence.Unsupported},
		"a weak digest":            {changed(func(m *maker) { m.r.KeyHashAlgorithm = "sha-1" }), evidence.Algorithm},
		"a profile of 2024":        {changed(func(m *maker) { m.p.Profile = "tag:arm.com,2024:cca_platform#2.0.0" }), evidence.Unsupported},
		"another realm profile":    {changed(func(m *maker) { m.r.Profile = "tag:arm.com,2024:realm#2.0.0" }), evidence.Unsupported},
		"an instance id of others": {changed(func(m *maker) { m.p.InstanceID[0] = 2 }), evidence.Malformed},
		"a life of no state":       {changed(func(m *maker) { m.p.Lifecycle = 0x3100 }), evidence.Malformed},
		"no firmware":              {changed(func(m *maker) { m.p.Software = []component{} }), evidence.Malformed},
		"a short challenge":        {changed(func(m *maker) { m.r.Challenge = m.r.Challenge[:63] }), evidence.Malformed},
		"three registers":          {changed(func(m *maker) { m.r.Extensible = m.r.Extensible[:3] }), evidence.Malformed},
		"registers of two lengths": {changed(func(m *maker) { m.r.Extensible[0] = fill(32, 0) }), evidence.Malformed},
		"no key":                   {changed(func(m *maker) { m.r.PublicKey = []byte{0xa0} }), evidence.Malformed},
		"another tag":              {replace("\xd9\x01\x8f", "\xd9\x01\x90"), evidence.Unsupported},
		"another label":            {replace("\x19\xac\xd1", "\x19\xac\xd2"), evidence.Malformed},
		"without tag 18":           {replace("\xd2\x84", "\xd1\x84"), evidence.Malformed},
		"EdDSA":                    {replace("\x44\xa1\x01\x38\x22", "\x44\xa1\x01\x38\x07"), evidence.Algorithm},
		"no algorithm":             {replace("\x44\xa1\x01\x38\x22", "\x44\xa1\x02\x38\x22"), evidence.Algorithm},
		"ES256 with a key of P-384": {func(t *testing.T, m *maker) []byte {
			return m.collect(bytes.Replace(sign(t, m.platformKey, marshal(t, &m.p)), []byte(es384.protected), []byte(es256.protected), 1), sign(t, m.realmKey, marshal(t, &m.r)))
		}, evidence.Algorithm},
		"a key id beside it": {func(t *testing.T, m *maker) []byte {
			return m.collect(bytes.Replace(sign(t, m.platformKey, marshal(t, &m.p)), []byte(es384.protected+"\xa0"), []byte(es384.protected+"\xa1\x04\x41\x00"), 1), sign(t, m.realmKey, marshal(t, &m.r)))
		}, evidence.Malformed},
		"a long head": {func(t *testing.T, m *maker) []byte {
			p := sign(t, m.platformKey, marshal(t, &m.p))
			token := append([]byte(collections[0].start), 0x5a, 0, 0, byte(len(p)>>8), byte(len(p)))
			return appendBytes(append(append(token, p...), collections[0].between...), sign(t, m.realmKey, marshal(t, &m.r)))
		}, evidence.Malformed},
		"a byte more": {func(t *testing.T, m *maker) []byte { return append(m.token(t), 0) }, evidence.Trailing},
		"a claim more": {func(t *testing.T, m *maker) []byte {
			claims := marshal(t, &m.p)
			claims[0]++ // one pair more, which sorts last
			claims = append(claims, 0x19, 0x09, 0x63, 0x00)
			return m.collect(sign(t, m.platformKey, claims), sign(t, m.realmKey, marshal(t, &m.r)))
		}, evidence.Malformed},
	} {
		m := newMaker(t)
		c, p := m.collateral(t), m.careful()
		a := Verifier{}.Verify(x.build(t, m), c, p)
		evidencetest.Want(t, name, a, bundle.Invalid, x.reason)
		if a.Claims != nil {
			t.Errorf("%s: claims of what isn't genuine", name)
		}
	}
}

func TestKeys(t *testing.T) {
	m, other := newMaker(t), newMaker(t)
	id := fmt.Sprintf("%x", m.p.InstanceID)
	for name, x := range map[string]struct {
		jwks    []byte
		verdict bundle.Verdict
		reason  evidence.Reason
	}{
		"none":           {nil, bundle.Incomplete, evidence.Missing},
		"no set":         {[]byte("x"), bundle.Invalid, evidence.BadCollateral},
		"another's":      {m.jwks(t, "01"), bundle.Invalid, evidence.KeyMismatch},
		"another key":    {other.jwks(t, id), bundle.Invalid, evidence.Signature},
		"the platform's": {m.jwks(t, id), bundle.Valid, ""},
	} {
		evidencetest.Want(t, name, Verifier{}.Verify(m.token(t), evidence.Collateral{JWKS: x.jwks}, m.careful()), x.verdict, x.reason)
	}
}

// An independent library reads and verifies what stands here as a message, and
// what it signs is read here.
func TestOracle(t *testing.T) {
	m := newMaker(t)
	payload := marshal(t, &m.p)
	verifier, err := cose.NewVerifier(cose.AlgorithmES384, m.platformKey.Public())
	if err != nil {
		t.Fatal(err)
	}
	var message cose.Sign1Message
	if err := message.UnmarshalCBOR(sign(t, m.platformKey, payload)); err != nil {
		t.Fatal(err)
	}
	if err := message.Verify(nil, verifier); err != nil || !bytes.Equal(message.Payload, payload) {
		t.Errorf("the oracle: %v", err)
	}
	signer, err := cose.NewSigner(cose.AlgorithmES384, m.platformKey)
	if err != nil {
		t.Fatal(err)
	}
	theirs := cose.NewSign1Message()
	theirs.Payload = payload
	theirs.Headers.Protected.SetAlgorithm(cose.AlgorithmES384)
	if err := theirs.Sign(nil, nil, signer); err != nil {
		t.Fatal(err)
	}
	b, err := theirs.MarshalCBOR()
	if err != nil {
		t.Fatal(err)
	}
	got, err := readSign1("platform", b)
	if err != nil || got.verify(&m.platformKey.PublicKey) != nil {
		t.Errorf("of the oracle: %v, %v", err, got.verify(&m.platformKey.PublicKey))
	}
}

// What parses is written as the same bytes.
func FuzzParse(f *testing.F) {
	for _, m := range makers(f) {
		f.Add(m.token(f))
	}
	f.Add([]byte(collections[0].start))
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := parse(b)
		if err != nil {
			if _, ok := errors.AsType[*evidence.Refusal](err); !ok {
				t.Errorf("got %v, which has no reason", err)
			}
			return
		}
		m := maker{wrapped: bytes.HasPrefix(b, []byte(collections[1].start))}
		write := func(s sign1) []byte {
			return appendBytes(appendBytes([]byte("\xd2\x84"+s.alg.protected+"\xa0"), s.payload), s.signature)
		}
		if again := m.collect(write(got.platform), write(got.realm)); !bytes.Equal(again, b) {
			t.Errorf("got %x, want %x", again, b)
		}
	})
}

// FuzzClaims goes behind the signatures.
func FuzzClaims(f *testing.F) {
	for _, m := range makers(f) {
		f.Add(marshal(f, &m.p), marshal(f, &m.r))
	}
	f.Fuzz(func(t *testing.T, p, r []byte) {
		got := &token{}
		if got.p.read(p) != nil || got.r.read(r, got.p.Profile) != nil {
			return
		}
		if a := evidence.NewAppraisal(evidence.ArmCca); got.claims() == nil || got.r.key == nil {
			t.Errorf("got %+v, %v", got, a)
		}
	})
}
