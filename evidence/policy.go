package evidence

import (
	"fmt"
	"slices"
	"time"
)

// Policy is what a relying party wants of evidence. The zero Policy accepts
// nothing: it has no clock. What it doesn't state and doesn't waive stays open
// (Unstated), so that nothing is trusted by forgetting to ask for it. Lists hold
// what is acceptable; an empty list asks for nothing unless it says otherwise.
type Policy struct {
	// Now is the time to judge by. It is never read from the machine here.
	Now time.Time `json:"-"`
	// Measurements are the launch measurements that are acceptable.
	Measurements []Hex `json:"measurements"`
	// ReportData is the value that the guest must have put in: 64 bytes for
	// sev-snp, tdx and arm-cca (its challenge), the nonce for nvidia-gpu.
	ReportData Hex `json:"report_data"`
	// AllowDebug accepts what can be looked into from outside.
	AllowDebug bool `json:"allow_debug"`
	// Waived are checks that the relying party gives up on, by name.
	Waived []Waiver `json:"accept_without_checking"`

	SevSnp    SevSnpPolicy    `json:"sev_snp"`
	Tdx       TdxPolicy       `json:"tdx"`
	NvidiaGPU NvidiaGPUPolicy `json:"nvidia_gpu"`
	ArmCca    ArmCcaPolicy    `json:"arm_cca"`
}

// Waiver names a check that a policy may give up on.
type Waiver string

// The waivers.
const (
	AnyMeasurement Waiver = "measurement" // whatever was launched
	AnyReportData  Waiver = "report_data" // bound to nothing, as old as may be
	AnyTCB         Waiver = "tcb"         // however outdated the platform is
	NoRevocation   Waiver = "revocation"  // whether or not keys were revoked
)

var waivers = []Waiver{AnyMeasurement, AnyReportData, AnyTCB, NoRevocation}

// Waives reports whether the policy gives up on a check.
func (p *Policy) Waives(w Waiver) bool { return slices.Contains(p.Waived, w) }

// SevSnpTCB is a platform's security versions.
type SevSnpTCB struct {
	BootLoader uint8 `json:"boot_loader"`
	TEE        uint8 `json:"tee"`
	SNP        uint8 `json:"snp"`
	Microcode  uint8 `json:"microcode"`
	FMC        uint8 `json:"fmc"` // Turin and later only
}

func (t SevSnpTCB) String() string {
	return fmt.Sprintf("boot_loader %d, tee %d, snp %d, microcode %d, fmc %d", t.BootLoader, t.TEE, t.SNP, t.Microcode, t.FMC)
}

// SevSnpPolicy is what only AMD's reports have.
type SevSnpPolicy struct {
	// MinimumTCB is held against the reported TCB, part by part.
	MinimumTCB *SevSnpTCB `json:"minimum_tcb"`
	// HostData must be the report's, 32 bytes; unset asks for nothing.
	HostData Hex `json:"host_data"`
	// MaxVMPL is the least privileged level that may have asked for the report.
	MaxVMPL *uint32 `json:"max_vmpl"`
	// SigningKey is "vcek" or "vlek"; empty takes either.
	SigningKey string `json:"signing_key"`
	// Products are "Milan", "Genoa", "Turin".
	Products []string `json:"products"`
	// ChipIDs are 64 bytes each.
	ChipIDs          []Hex  `json:"chip_ids"`
	FamilyID         Hex    `json:"family_id"` // 16 bytes
	ImageID          Hex    `json:"image_id"`  // 16 bytes
	IDKeyDigests     []Hex  `json:"id_key_digests"`
	AuthorKeyDigests []Hex  `json:"author_key_digests"`
	MinimumGuestSVN  uint32 `json:"minimum_guest_svn"`
	// MinimumFirmware is held against the committed version, as "1.55.29".
	MinimumFirmware string `json:"minimum_firmware"`
	// AllowMigrationAgent accepts guests that an agent may move elsewhere.
	AllowMigrationAgent bool `json:"allow_migration_agent"`
	// The rest ask that a bit of the guest's policy, or of the platform, is set
	// the safe way round.
	RequireNoSMT            bool `json:"require_no_smt"`
	RequireSingleSocket     bool `json:"require_single_socket"`
	RequireCiphertextHiding bool `json:"require_ciphertext_hiding"`
	RequireMemoryAliasCheck bool `json:"require_memory_alias_check"`
	RequireAES256XTS        bool `json:"require_aes_256_xts"`
	RequireRAPLDisabled     bool `json:"require_rapl_disabled"`
	RequirePageSwapDisabled bool `json:"require_page_swap_disabled"`
	RequireNoCXL            bool `json:"require_no_cxl"`
}

// TdxPolicy is what only Intel's quotes have.
type TdxPolicy struct {
	// AcceptedTCBStatus are Intel's statuses that are acceptable; empty means
	// "UpToDate" alone.
	AcceptedTCBStatus []string `json:"accepted_tcb_status"`
	// MinimumTCBEvaluation refuses TCB info of an older evaluation.
	MinimumTCBEvaluation uint32 `json:"minimum_tcb_evaluation"`
	// MinimumTEETCBSVN is 16 bytes, held against the quote's byte by byte.
	MinimumTEETCBSVN Hex   `json:"minimum_tee_tcb_svn"`
	MRSEAM           []Hex `json:"mr_seam"`
	MRConfigID       []Hex `json:"mr_config_id"`
	MROwner          []Hex `json:"mr_owner"`
	MROwnerConfig    []Hex `json:"mr_owner_config"`
	MRServiceTD      []Hex `json:"mr_service_td"`
	RTMR0            []Hex `json:"rtmr0"`
	RTMR1            []Hex `json:"rtmr1"`
	RTMR2            []Hex `json:"rtmr2"`
	RTMR3            []Hex `json:"rtmr3"`
	// XFAM must be the quote's, 8 bytes as stored; unset asks for nothing.
	XFAM Hex `json:"xfam"`
	// AllowMigratable accepts domains that a service domain may move elsewhere.
	AllowMigratable bool `json:"allow_migratable"`
	// IgnoreUnsignedTrailingBytes accepts a quote with bytes other than zeros
	// behind it. They are never read.
	IgnoreUnsignedTrailingBytes bool `json:"ignore_unsigned_trailing_bytes"`
}

// NvidiaGPUPolicy is what only NVIDIA's tokens have.
type NvidiaGPUPolicy struct {
	// Issuer must be every token's; empty means NVIDIA's own service.
	Issuer string `json:"issuer"`
	// GPUs is how many there must be; zero asks for nothing.
	GPUs uint32 `json:"gpus"`
	// Models, DriverVersions and VBIOSVersions are acceptable, as written.
	Models         []string `json:"models"`
	DriverVersions []string `json:"driver_versions"`
	VBIOSVersions  []string `json:"vbios_versions"`
	// UEIDs are the devices that are acceptable, as written.
	UEIDs []string `json:"ueids"`
	// AllowWarnings accepts tokens that carry a warning of the service.
	AllowWarnings bool `json:"allow_warnings"`
}

// ArmCcaPolicy is what only Arm's tokens have.
type ArmCcaPolicy struct {
	PersonalizationValue Hex `json:"personalization_value"` // 64 bytes
	// ExtensibleMeasurements hold, at the index of each register, what is
	// acceptable there; an empty list asks for nothing.
	ExtensibleMeasurements [][]Hex `json:"extensible_measurements"`
	ImplementationIDs      []Hex   `json:"implementation_ids"` // 32 bytes each
	InstanceIDs            []Hex   `json:"instance_ids"`       // 33 bytes each
	PlatformConfigs        []Hex   `json:"platform_configs"`
	// SoftwareMeasurements are the platform's acceptable components: each one in
	// the token must be among them. Empty leaves the TCB unstated.
	SoftwareMeasurements []Hex `json:"software_measurements"`
}
